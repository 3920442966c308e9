#include "results/hdf5/hyperslab.h"

#include <gtest/gtest.h>

namespace voltpile {
namespace {

// Returns the flat indices of a box in its row-major order.
std::vector<std::int64_t> points_of(const Hyperslab& box, const std::vector<std::uint64_t>& dims) {
    std::vector<std::int64_t> points{0};
    for (std::size_t d = 0; d < dims.size(); ++d) {
        std::vector<std::int64_t> next;
        for (std::int64_t p : points) {
            for (std::uint64_t i = 0; i < box.count[d]; ++i) {
                EXPECT_LT(box.start[d] + i, dims[d]);
                next.push_back(p * static_cast<std::int64_t>(dims[d]) +
                               static_cast<std::int64_t>(box.start[d] + i));
            }
        }
        points = std::move(next);
    }
    return points;
}

// For every range of every shape, the boxes contain exactly its points, in order, and are as few as possible.
TEST(Hyperslabs, CoverEveryRangeInOrder) {
    const std::vector<std::vector<std::uint64_t>> shapes{{},     {1},    {7},       {3, 5},
                                                         {1, 4}, {4, 1}, {3, 2, 5}, {2, 3, 1, 4}};
    for (const auto& dims : shapes) {
        std::int64_t total = 1;
        for (std::uint64_t n : dims) total *= static_cast<std::int64_t>(n);
        for (std::int64_t begin = 0; begin <= total; ++begin) {
            for (std::int64_t end = begin; end <= total; ++end) {
                const std::vector<Hyperslab> boxes = hyperslabs(dims, {begin, end});
                std::vector<std::int64_t> expected, covered;
                for (std::int64_t p = begin; p < end; ++p) expected.push_back(p);
                for (const Hyperslab& box : boxes) {
                    const auto points = points_of(box, dims);
                    covered.insert(covered.end(), points.begin(), points.end());
                }
                EXPECT_EQ(covered, expected);
                EXPECT_LE(boxes.size(), dims.empty() ? 1 : 2 * dims.size() - 1);
            }
        }
    }
}

TEST(Hyperslabs, WholeArrayIsOneBox) {
    const std::vector<std::uint64_t> dims{40000, 40000};
    const auto boxes = hyperslabs(dims, {0, 1'600'000'000});
    ASSERT_EQ(boxes.size(), 1u);
    EXPECT_EQ(boxes[0].count, dims);
}

}  // namespace
}  // namespace voltpile
