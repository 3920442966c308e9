// Which algorithm a collective uses at which size.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/collective/peer_layout.h"
#include "comm/collective/types.h"

namespace voltpile {

struct CollectiveWay {
    bool nccl = true;  // else our kernels, as follows
    PeerWire wire = PeerWire::LowLatency;
    bool two_shot = false;
    bool operator==(const CollectiveWay&) const = default;
};

// Converts to and from "nccl", "one-shot low-latency", "two-shot flagged", ...
std::string to_text(const CollectiveWay& way);
std::optional<CollectiveWay> way_from_text(std::string_view text);

// Returns all algorithms for this collective. Two-shot is for all_reduce of more than 2 ranks only.
std::vector<CollectiveWay> possible_ways(Collective collective, int ranks, bool nccl, bool peer);

// Size classes: class c holds more than size(c - 1) and up to size(c) bytes. The last class also holds
// everything above.
struct CollectiveTable {
    static constexpr int classes = 16;
    static constexpr std::int64_t size(int c) { return std::int64_t{512} << c; }  // up to 16 MB
    static int class_of(std::int64_t bytes);

    std::array<std::array<CollectiveWay, classes>, collective_count> ways;

    // bytes: of each rank's part if counts_parts(), else of the whole.
    const CollectiveWay& choose(Collective collective, std::int64_t bytes) const;

    // One line per collective: "all_reduce: to 64 KB one-shot low-latency, ..., above nccl".
    std::string text() const;
};

}  // namespace voltpile
