#include <cmath>

#include <gtest/gtest.h>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

std::string frames(const std::string& count, const std::string& changes) {
    return "[frames]\ncount = " + count + "\n" + changes;
}

std::string change(const std::string& parameters, const std::string& more) {
    return "[[frames.change]]\nparameters = [" + parameters + "]\n" + more + "\n";
}

FrameChange only_change(const std::string& text) {
    const auto job = parse_bowl(bowl_job + text);
    EXPECT_EQ(job.frame_changes().size(), 1u);
    return job.frame_changes().at(0);
}

std::string problems_with(const std::string& text) {
    return problems_of(bowl_job + text);
}

const std::string x_axis = axis("corner[0].x", "-3", "1", "4", "name = 'x'");

TEST(Frames, AreTheSlowestAxis) {
    const auto job = parse_bowl(bowl_job + x_axis + frames("5", change("'bowl.depth'", "to = [5]")));
    ASSERT_EQ(job.axes().size(), 2u);
    EXPECT_EQ(job.axes()[1].name, "frame");
    EXPECT_TRUE(job.axes()[1].is_frames());
    EXPECT_EQ(job.axes()[1].value(3), 3.0);
    EXPECT_EQ(job.point_count(), 20);
    EXPECT_EQ(frame_of(job.axes(), 7), 1);
    EXPECT_EQ(frame_of(job.axes(), 19), 4);
    EXPECT_TRUE(job.varies("bowl.depth", 0));
    EXPECT_TRUE(job.varies("bowl.corner", 0));
    EXPECT_FALSE(job.varies("bowl.corner", 1));
}

TEST(Frames, JobsWithoutThemStayTheSameJobs) {
    EXPECT_EQ(parse_bowl(bowl_job).fingerprint(), parse_bowl(bowl_job + frames("0", "")).fingerprint());
    const std::string five = frames("5", change("'bowl.depth'", "to = [5]"));
    const std::string other = frames("5", change("'bowl.depth'", "to = [6]"));
    EXPECT_NE(parse_bowl(bowl_job + five).fingerprint(), parse_bowl(bowl_job).fingerprint());
    EXPECT_NE(parse_bowl(bowl_job + five).fingerprint(), parse_bowl(bowl_job + other).fingerprint());
}

// from + (to - from) k / n, n = count, or count - 1 with endpoint.
TEST(Frames, MoveValuesEvenly) {
    const auto open = only_change(frames("4", change("'bowl.depth'", "to = [4.5]")));
    for (int k = 0; k < 4; ++k) EXPECT_EQ(open.at(k).from, 2.5 + 0.5 * k);
    const auto closed = only_change(frames("5", "endpoint = true\n" + change("'bowl.depth'", "to = [4.5]")));
    EXPECT_EQ(closed.at(4).from, 4.5);
    const auto whole = only_change(frames("4", change("'roll.rounds'", "to = [20]")));
    const double rounded[] = {10, 13, 15, 18};  // 12.5 and 17.5 away from zero
    for (int k = 0; k < 4; ++k) EXPECT_EQ(whole.at(k).from, rounded[k]);
}

TEST(Frames, MoveValuesByEqualFactors) {
    const auto grows =
        only_change(frames("4", change("'bowl.depth'", "to = [40]\nlogarithmic = true")));  // 2.5 to 40
    for (int k = 0; k < 4; ++k) EXPECT_DOUBLE_EQ(grows.at(k).from, 2.5 * std::pow(2, k));
    const auto halves = only_change(frames("4", change("'bowl.depth'", "halve_every = 2")));
    EXPECT_EQ(halves.at(2).from, 1.25);
    EXPECT_DOUBLE_EQ(halves.at(1).from, 2.5 / std::sqrt(2));
}

TEST(Frames, EaseTheWay) {
    const auto at_half = [](const std::string& easing) {
        return only_change(frames("4", change("'bowl.depth'", "to = [3.5]\neasing = '" + easing + "'")));
    };
    EXPECT_EQ(at_half("in").at(2).from, 2.75);
    EXPECT_EQ(at_half("out").at(2).from, 3.25);
    EXPECT_EQ(at_half("in_out").at(2).from, 3.0);
    EXPECT_EQ(at_half("in_out").at(1).from, 2.5 + 0.15625);  // (1/16) (3 - 1/2)
}

TEST(Frames, ShrinkRangesAroundTheirMiddle) {
    const auto job = parse_bowl(bowl_job + x_axis + frames("7", change("'corner[0].x'", "halve_every = 3")));
    const SweepAxis& x = job.axes()[0];
    EXPECT_EQ(x.frames[0], (FrameRange{-3, 1}));
    EXPECT_EQ(x.frames[3], (FrameRange{-2, 0}));
    EXPECT_EQ(x.frames[6], (FrameRange{-1.5, -0.5}));
    EXPECT_EQ(x.value(2, 3), -1.0);
    EXPECT_EQ(x.in_frame(6).value(1), -1.25);
    EXPECT_EQ(x.part(1), 0.25);
}

// The middle's distance from its end is to the width's as at first: its place in the picture moves evenly.
TEST(Frames, ZoomIntoAPoint) {
    const auto zoom = only_change(
        x_axis + frames("3", "endpoint = true\n" + change("'corner[0].x'", "to = [7]\nwidth = [0.04]")));
    EXPECT_EQ(zoom.at(0), (FrameRange{-3, 1}));
    EXPECT_NEAR(zoom.at(1).to - zoom.at(1).from, 0.4, 1e-15);  // 4, 0.4, 0.04
    EXPECT_DOUBLE_EQ((zoom.at(1).to + zoom.at(1).from) / 2, 7 - 8 * (0.4 - 0.04) / (4 - 0.04));
    EXPECT_DOUBLE_EQ(zoom.at(2).from, 6.98);
    EXPECT_DOUBLE_EQ(zoom.at(2).to, 7.02);
    const auto pan = only_change(x_axis + frames("4", change("'corner[0].x'", "to = [7]")));
    EXPECT_EQ(pan.at(1), (FrameRange{-1, 3}));
    const auto closing =
        only_change(x_axis + frames("4", change("'corner[0].x'", "to = [7]\nhalve_every = 1")));
    EXPECT_EQ(closing.at(1), (FrameRange{2, 4}));
}

TEST(Frames, AreWrittenAsText) {
    const auto zoom = only_change(
        x_axis + frames("3", change("'corner[0].x'", "to = [0.1]\nwidth = [1e-17]\neasing = 'out'")));
    EXPECT_EQ(parse_change(change_text(zoom)), zoom);
    EXPECT_FALSE(parse_change("x y"));
}

TEST(Frames, RefusesWhatMakesNoSense) {
    const auto refusal = [](const std::string& parameters, const std::string& more) {
        return problems_with(x_axis + frames("4", change(parameters, more)));
    };
    EXPECT_EQ(problems_with(change("'bowl.depth'", "to = [1]")),
              "b.toml:7: changes need frames: give frames.count, the number of them");
    EXPECT_NE(refusal("'bowl.depht'", "to = [1]").find("did you mean \"bowl.depth\"?"), std::string::npos);
    EXPECT_NE(refusal("", "to = []").find("names nothing"), std::string::npos);
    EXPECT_NE(refusal("'bowl.depth'", "").find("changes nothing"), std::string::npos);
    EXPECT_NE(refusal("'bowl.depth'", "to = [1, 2]").find("has 2 of 1 numbers"), std::string::npos);
    EXPECT_NE(refusal("'bowl.depth'", "width = [1]").find("is not swept"), std::string::npos);
    EXPECT_NE(refusal("'corner[0].x'", "width = [1]\nhalve_every = 2").find("leave out one"),
              std::string::npos);
    EXPECT_NE(refusal("'bowl.depth', 'bowl.depth'", "halve_every = 2").find("already changes"),
              std::string::npos);
    EXPECT_NE(refusal("'bowl.depth'", "to = [-1]\nlogarithmic = true").find("same sign"), std::string::npos);
    EXPECT_NE(refusal("'bowl.depth'", "to = [1]\nspeed = 2").find("unknown key frames.change.speed"),
              std::string::npos);
    // A key of a change is in no other table, so bowl.depth is no suggestion.
    EXPECT_EQ(refusal("'bowl.depth'", "to = [1]\nwidht = [2]"),
              "b.toml:18: unknown key frames.change.widht; did you mean frames.change.width?");
    EXPECT_EQ(refusal("'bowl.depth'", "to = [1]\ndepth = 2"), "b.toml:18: unknown key frames.change.depth");
    EXPECT_EQ(problems_with(frames("4", "[[frames.chnge]]\nto = [1]\n")),
              "b.toml:9: unknown key frames.chnge; did you mean frames.change?");
    // 2.5 - 3.5 k / 4
    EXPECT_EQ(refusal("'bowl.depth'", "to = [-1]"),
              "b.toml:16: bowl.depth = -0.125 in frame 3: must be greater than 0");
}

// Frame k of the first goes from 7 - 10 / 2^k to 7 - 6 / 2^k, and doubles there are 2^-50 apart: in frame 52
// the ends lie 2.5 and 1.5 of these steps below 7 and both round to 2, the even one. The smallest double is
// 2^-1074, and 2.5 / 2^k rounds to 0 if it is less than half of that.
TEST(Frames, RefusesToShrinkToNothing) {
    const std::string zoom = x_axis + frames("60", change("'corner[0].x'", "to = [7]\nhalve_every = 1"));
    EXPECT_EQ(problems_with(zoom),
              "b.toml:16: bowl.corner[0].x in frame 52: the range shrinks to nothing, at 6.999999999999998: "
              "give fewer frames, or a wider end");
    const std::string halved = frames("1100", change("'bowl.depth'", "halve_every = 1"));
    EXPECT_EQ(problems_with(halved),
              "b.toml:10: bowl.depth in frame 1077: halves until nothing is left: give fewer frames");
    const std::string no_width = x_axis + frames("4", change("'corner[0].x'", "width = [0]"));
    EXPECT_NE(problems_with(no_width).find("must be greater than 0"), std::string::npos);
}

}  // namespace
}  // namespace voltpile::testing
