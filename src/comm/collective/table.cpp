#include "comm/collective/table.h"

#include <fmt/format.h>

namespace voltpile {
namespace {

constexpr std::string_view wire_names[] = {"low-latency", "flagged"};

std::string binary_bytes_text(std::int64_t bytes) {
    if (bytes >= 1 << 20) return fmt::format("{} MiB", bytes >> 20);
    if (bytes >= 1 << 10) return fmt::format("{} KiB", bytes >> 10);
    return fmt::format("{} B", bytes);
}

}  // namespace

std::string to_text(const CollectiveWay& way) {
    if (way.nccl) return "nccl";
    return fmt::format("{} {}", way.two_shot ? "two-shot" : "one-shot",
                       wire_names[static_cast<int>(way.wire)]);
}

std::optional<CollectiveWay> way_from_text(std::string_view text) {
    for (const bool nccl : {true, false})
        for (const PeerWire wire : {PeerWire::LowLatency, PeerWire::Flagged})
            for (const bool two_shot : {false, true})
                if (const CollectiveWay way{nccl, wire, two_shot}; text == to_text(way))
                    return nccl ? CollectiveWay{} : way;
    return std::nullopt;
}

std::vector<CollectiveWay> possible_ways(Collective collective, int ranks, bool nccl, bool peer) {
    std::vector<CollectiveWay> ways;
    if (nccl) ways.push_back({});
    for (const PeerWire wire : {PeerWire::LowLatency, PeerWire::Flagged}) {
        if (!peer) continue;
        ways.push_back({false, wire, false});
        if (collective == Collective::AllReduce && ranks > 2) ways.push_back({false, wire, true});
    }
    return ways;
}

int CollectiveTable::class_of(std::int64_t bytes) {
    int c = 0;
    while (c < classes - 1 && size(c) < bytes) ++c;
    return c;
}

const CollectiveWay& CollectiveTable::choose(Collective collective, std::int64_t bytes) const {
    return ways[static_cast<std::size_t>(collective)][static_cast<std::size_t>(class_of(bytes))];
}

std::string CollectiveTable::text() const {
    std::string text;
    for (int i = 0; i < collective_count; ++i) {
        const auto& row = ways[static_cast<std::size_t>(i)];
        text += fmt::format("{}{}:", i ? "\n" : "", name_of(static_cast<Collective>(i)));
        bool first = true;
        for (int c = 0; c < classes; ++c) {
            const CollectiveWay& way = row[static_cast<std::size_t>(c)];
            if (c + 1 < classes && row[static_cast<std::size_t>(c) + 1] == way) continue;
            const std::string from = c + 1 < classes ? "to " + binary_bytes_text(size(c)) : "above";
            text += fmt::format("{} {} {}", first ? "" : ",", first && c + 1 == classes ? "always" : from,
                                to_text(way));
            first = false;
        }
    }
    return text;
}

}  // namespace voltpile
