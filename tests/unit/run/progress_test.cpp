#include "run/progress.h"

#include <gtest/gtest.h>

using namespace voltpile;

TEST(ProgressMeter, ShowsDoneRateElapsedLeftAndRanks) {
    ProgressMeter meter("seed_map", "pair-steps");
    ProgressState state;
    state.points = 1000;
    state.ranks = 2;
    meter.line(state);  // at the start
    state.points_done = 250;
    state.units = 5e8;
    state.elapsed_s = 4;
    EXPECT_EQ(
        meter.line(state),
        "seed_map [#####...............]  25.0 %  1.25e+08 pair-steps/s  elapsed 4.00 s  left 12 s  2 ranks");
}

TEST(ProgressMeter, RateCoversTheLastSeconds) {
    ProgressMeter meter("job", "points");
    ProgressState state;
    state.points = 100;
    for (int second = 0; second <= 10; ++second) {  // 10 a second
        state.elapsed_s = second;
        state.units = 10 * second;
        meter.line(state);
    }
    for (int second = 11; second <= 16; ++second) {  // then 100 a second
        state.elapsed_s = second;
        state.units += 100;
        meter.line(state);
    }
    state.elapsed_s = 16.1;
    state.units += 10;
    const std::string line = meter.line(state);
    EXPECT_NE(line.find(" 100 points/s"), std::string::npos) << line;
}

TEST(ProgressMeter, TimeLeftIgnoresThePointsOfEarlierRuns) {
    ProgressMeter meter("job", "points");
    ProgressState state;
    state.points = 1000;
    state.points_before = 500;
    state.points_done = 600;
    state.elapsed_s = 10;
    EXPECT_NE(meter.line(state).find("left 40 s"), std::string::npos);  // 400 to go at 10 a second
}

TEST(ProgressMeter, ShowsAQuestionMarkBeforeAnythingIsKnown) {
    ProgressMeter meter("job", "points");
    ProgressState state;
    state.points = 10;
    EXPECT_NE(meter.line(state).find("left ?"), std::string::npos);
}

TEST(ProgressMeter, ShowsTheGaugesOfTheApp) {
    ProgressMeter meter("job", "tokens", 0);
    ProgressState state;
    state.points = 10;
    meter.line(state);
    state.elapsed_s = 2;
    state.gauges = {{"in", "tok/s", Gauge::Kind::Rate, 100},
                    {"batch", "", Gauge::Kind::Sum, 37},
                    {"cache", "%", Gauge::Kind::Mean, 61}};
    std::string line = meter.line(state);
    EXPECT_TRUE(line.ends_with("1 rank  in 50 tok/s  batch 37  cache 61 %")) << line;
    state.elapsed_s = 4;
    state.gauges[0].value = 500;
    line = meter.line(state);
    EXPECT_TRUE(line.ends_with("  in 125 tok/s  batch 37  cache 61 %")) << line;
}
