#include "threebody/resolution.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace voltpile::threebody;

namespace {

// The zoom movie: frame k has range 40/2^(k/30) around (5.30031, -0.45), shift 0.001/2^(k/30), 50000 + 1000 k
// steps.
Problem zoom_frame(int k) {
    const double scale = std::exp2(-k / 30.0);
    Problem problem;
    problem.separation = 0.5;
    problem.largest_steps = 50000 + 1000 * k;
    auto& position = problem.sources.position;
    position[0][2].base = -11;
    position[2][0].base = position[2][1].base = 10;
    position[2][2].base = 12;
    position[0][0] = {0, 5.30031 - 20 * scale, 5.30031 + 20 * scale, 1000, 1000, 1};
    position[0][1] = {0, -0.45 - 20 * scale, -0.45 + 20 * scale, 1000, 1000, 1000};
    for (auto& component : problem.sources.twin_shift) component.base = 0.001 * scale;
    return problem;
}

std::vector<std::string> warnings_of(const Problem& problem) {
    return frame_warnings(problem, 1, 1000000);
}

}  // namespace

TEST(Resolution, AcceptsThePublishedMapInFp64) {
    EXPECT_TRUE(warnings_of(zoom_frame(0)).empty());
}

TEST(Resolution, WarnsAboutThePublishedMapInFp32) {
    // 50,000 roundings of 20 in FP32: sqrt(5e4) 1.2e-7 20 = 5e-4, a third of the shift.
    Problem problem = zoom_frame(0);
    problem.single_precision = true;
    EXPECT_EQ(warnings_of(problem).size(), 1u);
}

TEST(Resolution, WarnsAboutDeepFramesOfTheZoom) {
    int first = 0;
    while (warnings_of(zoom_frame(first)).empty() && first < 2000) ++first;
    // Care is needed "long before" FP64's spacing shows; at frame 1000 the shift is 100 units in the last
    // place.
    EXPECT_GT(first, 100);
    EXPECT_LT(first, 1000);
}

TEST(Resolution, WarnsAboutCoincidingPoints) {
    Problem problem = zoom_frame(0);
    problem.sources.position[0][0] = {0, 5.0, 5.0 + 1e-13, 1000, 1000, 1};
    ASSERT_EQ(warnings_of(problem).size(), 1u);
    EXPECT_NE(warnings_of(problem)[0].find("coincide"), std::string::npos);
}
