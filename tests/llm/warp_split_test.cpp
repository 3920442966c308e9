#include "llm/ops/cuda/warp_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace voltpile::llm {
namespace {

constexpr int multiprocessors = 132;  // of an H200

// Hands out the sets one by one, and counts.
SplitCost counted(std::int64_t items, int steps, int passes, int split) {
    const auto sets = static_cast<std::size_t>(matvec_sets(items, split));
    const std::size_t blocks = std::min<std::size_t>(sets, most_matvec_blocks(multiprocessors));
    std::vector<std::int64_t> of_block(blocks), of_multiprocessor(multiprocessors);
    for (std::size_t set = 0; set < sets; ++set) {
        of_block[set % blocks] += (steps + split - 1) / split * passes;
        of_multiprocessor[set % blocks % multiprocessors] +=
            std::int64_t{matvec_warps} / split * steps * passes;  // as if the last set were full
    }
    return {std::ranges::max(of_block), std::ranges::max(of_multiprocessor)};
}

TEST(WarpSplit, CountsStepsOfWarpsAndMultiprocessors) {
    for (const std::int64_t items : {1, 7, 264, 720, 1056, 1280, 2880, 32064}) {
        for (const int steps : {1, 2, 6, 12, 28}) {
            for (const int split : {1, 2, 4, 8}) {
                const int passes = 1 + split / 4;
                const SplitCost cost = split_cost(items, steps, passes, split, multiprocessors);
                const SplitCost expected = counted(items, steps, passes, split);
                EXPECT_EQ(cost.longest, expected.longest) << items << " x " << steps << " / " << split;
                EXPECT_EQ(cost.fullest, expected.fullest) << items << " x " << steps << " / " << split;
            }
        }
    }
}

TEST(WarpSplit, FillsMultiprocessorsEvenly) {
    // 1,280 items of 6 steps are 58 for each multiprocessor. A warp for each item would leave 104 of them
    // with one block of 48 and 28 with two.
    EXPECT_EQ(best_split(1280, 6, 1, multiprocessors), 4);
    EXPECT_EQ(split_cost(1280, 6, 1, 4, multiprocessors).fullest, 60);
    EXPECT_EQ(split_cost(1280, 6, 1, 1, multiprocessors).fullest, 96);
    // Enough for all either way: no parts to add.
    EXPECT_EQ(best_split(8 * 264, 6, 1, multiprocessors), 1);
    // Loaded at once, two steps of a warp take as long wherever they run.
    EXPECT_EQ(best_split(1280, 2, 1, multiprocessors), 1);
    // No more warps than steps.
    EXPECT_EQ(best_split(1, 1, 1, multiprocessors), 1);
    EXPECT_EQ(best_split(1, 6, 1, multiprocessors), 4);
}

}  // namespace
}  // namespace voltpile::llm
