#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace voltpile {
namespace {

TEST(InParallel, VisitsEveryIndexOnce) {
    for (const std::size_t count : {0, 1, 3, 4, 1001}) {
        for (const std::size_t threads : {0, 1, 4, 7}) {
            std::vector<std::atomic<int>> visits(count);
            in_parallel(count, threads, [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) ++visits[i];
            });
            for (const auto& visit : visits) EXPECT_EQ(visit, 1) << count << " on " << threads;
        }
    }
}

}  // namespace
}  // namespace voltpile
