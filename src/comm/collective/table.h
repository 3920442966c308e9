// Which way a collective goes at which size.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/collective/types.h"
#include "comm/collective/peer_layout.h"

namespace voltpile {

struct CollectiveWay {
    bool nccl = true;  // else our kernels, so:
    PeerWire wire = PeerWire::LowLatency;
    bool two_shot = false;
    bool operator==(const CollectiveWay&) const = default;
};

// "nccl", "one-shot low-latency", "two-shot flagged", ..., and back.
std::string to_text(const CollectiveWay& way);
std::optional<CollectiveWay> way_from_text(std::string_view text);

// All there are for this collective: two-shot for all_reduce of more than 2 only.
std::vector<CollectiveWay> possible_ways(Collective collective, int ranks, bool nccl, bool peer);

constexpr int collective_count = 4;

// Sizes in classes: class c is for more than size(c - 1) and up to size(c) bytes; the last one for all above
// as well.
struct CollectiveTable {
    static constexpr int classes = 16;
    static constexpr std::int64_t size(int c) { return std::int64_t{512} << c; }  // to 16 MB
    static int class_of(std::int64_t bytes);

    std::array<std::array<CollectiveWay, classes>, collective_count> ways;

    // bytes: of each rank's part in all_gather and reduce_scatter, of the whole else.
    const CollectiveWay& choose(Collective collective, std::int64_t bytes) const;

    // A line for each collective: "all_reduce: to 64 KB one-shot low-latency, ..., above nccl".
    std::string text() const;
};

}  // namespace voltpile
