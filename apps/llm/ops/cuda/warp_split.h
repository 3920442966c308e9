// How the warps of matrix-vector products (matvec.cuh) share their items: 4 results each, over all columns.
#pragma once

#include <algorithm>
#include <cstdint>

namespace voltpile::llm {

constexpr int matvec_warps = 8;  // of a block
constexpr int matvec_blocks_per_multiprocessor = 2;

constexpr int most_matvec_blocks(int multiprocessors) {
    return multiprocessors * matvec_blocks_per_multiprocessor;
}
// Returns the sets of items, one of which a block has at a time, if `split` warps share an item.
constexpr std::int64_t matvec_sets(std::int64_t items, int split) {
    const int slots = matvec_warps / split;
    return (items + slots - 1) / slots;
}

// What a product takes if `split` warps share an item. Set s belongs to block s % blocks, and block b is
// assumed to run on multiprocessor b % multiprocessors.
struct SplitCost {
    std::int64_t longest = 0;  // steps of the warp that has most, one after the other
    std::int64_t fullest = 0;  // steps of all warps of the multiprocessor that has most
};
// items: at least 1. steps: of an item that warps share, which they go through `passes` times.
constexpr SplitCost split_cost(std::int64_t items, int steps, int passes, int split, int multiprocessors) {
    const std::int64_t sets = matvec_sets(items, split);
    const std::int64_t blocks = std::min<std::int64_t>(sets, most_matvec_blocks(multiprocessors));
    SplitCost cost;
    cost.longest = (sets + blocks - 1) / blocks * ((steps + split - 1) / split) * passes;
    for (std::int64_t block = 0; block < blocks; block += multiprocessors)  // those of multiprocessor 0
        cost.fullest += (sets - block + blocks - 1) / blocks * (matvec_warps / split) * steps * passes;
    return cost;
}

// A warp loads so many steps at once when it begins, with one row of x. Products whose warps have no more do
// not gain from evenly full multiprocessors (measured on an H200).
constexpr int steps_at_once = 2;

// Returns how many warps of a block share an item: 1, 2, 4 or 8, but no more than an item has steps. The
// fewest that keep the longest warp shortest and the fullest multiprocessor at most 15 % fuller than it could
// be: more warps have more parts to add.
constexpr int best_split(std::int64_t items, int steps, int passes, int multiprocessors) {
    const auto cost = [&](int split) { return split_cost(items, steps, passes, split, multiprocessors); };
    const int most = std::clamp(steps, 1, matvec_warps);
    SplitCost least = cost(1);
    for (int split = 2; split <= most; split *= 2) {
        const SplitCost other = cost(split);
        if (other.longest < least.longest)
            least = other;
        else if (other.longest == least.longest)
            least.fullest = std::min(least.fullest, other.fullest);
    }
    const auto suffices = [&](const SplitCost& other) {
        return other.longest == least.longest &&
               (other.longest <= steps_at_once || 100 * other.fullest <= 115 * least.fullest);
    };
    int split = 1;
    while (!suffices(cost(split))) split *= 2;
    return split;
}

}  // namespace voltpile::llm
