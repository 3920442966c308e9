#include <gtest/gtest.h>

#include "threebody/bench.h"

using namespace voltpile;
using namespace voltpile::threebody;

// Two cores that compute 2e8 pair-steps a second together, 50,000 steps a pair: 4,000 pairs a second.
TEST(Bench, ChoosesAMapThatTakesTheRequestedTime) {
    EXPECT_EQ(map_size_for(4000, 10), 200);
    EXPECT_EQ(map_size_for(1e-3, 10), 32);
    EXPECT_EQ(map_size_for(1e9, 10), published_size);
}

TEST(Bench, ComputesTheMapOfTheJobFile) {
    BenchOptions options;
    options.size = 200;
    options.steps = 50000;
    const Problem problem = published_problem(options);
    EXPECT_EQ(problem.sources.position[0][0].count, 200);
    EXPECT_EQ(problem.sources.position[0][0].from, -20);
    EXPECT_EQ(problem.sources.position[0][1].to, 20);
    EXPECT_EQ(problem.largest_steps, 50000);
}
