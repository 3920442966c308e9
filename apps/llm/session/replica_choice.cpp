#include "llm/session/replica_choice.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "llm/ops/batch.h"

namespace voltpile::llm {
namespace {

// One hash for each beginning of whole pages, the shortest first. Equal hashes of different beginnings only
// make a worse choice.
std::vector<std::uint64_t> beginnings_of(std::span<const std::int32_t> tokens) {
    std::vector<std::uint64_t> hashes;
    std::uint64_t hash = 0;
    for (; tokens.size() >= kv_page_tokens; tokens = tokens.subspan(kv_page_tokens)) {
        const std::string_view page(reinterpret_cast<const char*>(tokens.data()),
                                    kv_page_tokens * sizeof(std::int32_t));
        hash = std::hash<std::string_view>()(page) ^ (hash * 0x9e3779b97f4a7c15U + 1);
        hashes.push_back(hash);
    }
    return hashes;
}

}  // namespace

bool ReplicaChoice::has_seen(std::size_t replica, std::uint64_t beginning) const {
    for (const Seen* seen : {&recent_, &older_})
        if (const auto found = seen->find(beginning); found != seen->end() && found->second[replica])
            return true;
    return false;
}

void ReplicaChoice::remember(std::size_t replica, std::span<const std::uint64_t> beginnings) {
    if (recent_.size() + beginnings.size() > most_beginnings) older_ = std::exchange(recent_, {});
    for (const std::uint64_t beginning : beginnings) {
        std::vector<bool>& by = recent_[beginning];
        by.resize(replicas_.size());
        by[replica] = true;
    }
}

int ReplicaChoice::choose(std::span<const std::int32_t> prompt) {
    const std::vector<std::uint64_t> beginnings = beginnings_of(prompt);
    const bool any_good =
        std::ranges::any_of(replicas_, [](const Replica& each) { return each.works && !each.avoided; });
    const auto counts = [&](const Replica& each) { return each.works && !(any_good && each.avoided); };
    int lowest = std::numeric_limits<int>::max();
    for (const Replica& each : replicas_)
        if (counts(each)) lowest = std::min(lowest, each.load);
    std::size_t best = 0;
    std::tuple<std::ptrdiff_t, int, std::uint64_t> least{1, 0, 0};  // no replica has more than 0 in front
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
        const Replica& each = replicas_[i];
        if (!counts(each) || each.load - slack > lowest) continue;
        std::ptrdiff_t pages = 0;
        while (pages < std::ssize(beginnings) && has_seen(i, beginnings[static_cast<std::size_t>(pages)]))
            ++pages;
        const std::tuple order(-pages, each.load, each.chosen);
        if (order >= least) continue;
        least = order;
        best = i;
    }
    remember(best, beginnings);
    ++replicas_[best].load;
    replicas_[best].chosen = ++choices_;
    return static_cast<int>(best);
}

void ReplicaChoice::ended(int replica, std::span<const std::int32_t> tokens) {
    --at(replica).load;
    remember(static_cast<std::size_t>(replica), beginnings_of(tokens));
}

}  // namespace voltpile::llm
