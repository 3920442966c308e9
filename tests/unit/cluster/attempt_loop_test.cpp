#include "cluster/supervisor/attempt_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

using namespace voltpile;

namespace {

// Plays back checks and ends of attempts. The last check repeats.
class FakeRunner : public AttemptRunner {
  public:
    std::deque<NodeRoll> rolls;
    std::deque<AttemptEnd> ends;
    std::vector<std::vector<std::string>> ran;
    int pauses = 0;
    bool stop_in_pause = false;

    NodeRoll check() override {
        const NodeRoll roll = rolls.front();
        if (rolls.size() > 1) rolls.pop_front();
        return roll;
    }
    AttemptEnd run(int attempt, const std::vector<std::string>& nodes) override {
        EXPECT_EQ(attempt, static_cast<int>(ran.size()) + 1);
        ran.push_back(nodes);
        if (ends.empty()) throw std::logic_error("an attempt too many");
        const AttemptEnd end = ends.front();
        ends.pop_front();
        return end;
    }
    bool pause() override {
        ++pauses;
        return !stop_in_pause;
    }
};

AttemptEnd ended(int exit_code, bool progressed) {
    return {.exit_code = exit_code, .progressed = progressed, .what = "ended"};
}

const NodeRoll kBoth{{"a", "b"}, {}};
const NodeRoll kOne{{"a"}, {{"b", "cannot be reached"}}};

LaunchSummary supervised(FakeRunner& runner, std::vector<std::string>* said = nullptr) {
    return supervise(runner, 3, [&](const std::string& line) {
        if (said) said->push_back(line);
    });
}

}  // namespace

TEST(AttemptLoop, EndsWithTheJob) {
    FakeRunner runner;
    runner.rolls = {kBoth};
    runner.ends = {ended(0, false)};
    const LaunchSummary summary = supervised(runner);
    EXPECT_EQ(summary.code, ExitCode::Done);
    EXPECT_EQ(summary.attempts.size(), 1U);
    EXPECT_TRUE(summary.excluded.empty());
}

TEST(AttemptLoop, ContinuesWithoutTheLostNodeAndTakesItBack) {
    FakeRunner runner;
    runner.rolls = {kBoth, kOne, kBoth};
    runner.ends = {ended(255, true), ended(137, true), ended(0, false)};
    std::vector<std::string> said;
    const LaunchSummary summary = supervised(runner, &said);
    EXPECT_EQ(summary.code, ExitCode::Done);
    EXPECT_EQ(runner.ran, (std::vector<std::vector<std::string>>{{"a", "b"}, {"a"}, {"a", "b"}}));
    EXPECT_NE(std::ranges::find(said, "without b: cannot be reached"), said.end());
    EXPECT_NE(std::ranges::find(said, "b is back"), said.end());
}

TEST(AttemptLoop, GivesUpAfterAttemptsInARowWithoutProgress) {
    FakeRunner runner;
    runner.rolls = {kBoth};
    runner.ends = {ended(4, false), ended(4, false), ended(4, true),
                   ended(4, false), ended(4, false), ended(4, false)};
    const LaunchSummary summary = supervised(runner);
    EXPECT_EQ(summary.code, ExitCode::Failed);
    EXPECT_EQ(summary.attempts.size(), 6U);  // the third one made progress, so three more had to fail
    EXPECT_EQ(summary.why, "3 attempts in a row made no progress; the last one: ended");
}

TEST(AttemptLoop, NeverRepeatsAWrongJob) {
    FakeRunner runner;
    runner.rolls = {kBoth};
    runner.ends = {ended(2, false)};
    EXPECT_EQ(supervised(runner).code, ExitCode::BadInput);
}

TEST(AttemptLoop, NeverRepeatsAFinalFailure) {
    FakeRunner runner;
    runner.rolls = {kBoth};
    AttemptEnd end = ended(4, true);
    end.is_final = true;
    runner.ends = {end};
    const LaunchSummary summary = supervised(runner);
    EXPECT_EQ(summary.code, ExitCode::Failed);
    EXPECT_EQ(summary.why, "another attempt would fail in the same way");
}

TEST(AttemptLoop, RepeatsAJobThatCannotRunOnOtherNodesOnly) {
    FakeRunner runner;
    runner.rolls = {kBoth};
    runner.ends = {ended(3, false)};
    EXPECT_EQ(supervised(runner).code, ExitCode::CannotRun);
    EXPECT_EQ(runner.ran.size(), 1U);

    FakeRunner lucky;
    lucky.rolls = {kBoth, kOne};
    lucky.ends = {ended(3, false), ended(0, false)};
    EXPECT_EQ(supervised(lucky).code, ExitCode::Done);
}

TEST(AttemptLoop, EndsWhenItOrTheJobIsStopped) {
    FakeRunner runner;
    runner.rolls = {kBoth};
    AttemptEnd by_signal = ended(143, true);
    by_signal.stopped = true;
    runner.ends = {by_signal};
    EXPECT_EQ(supervised(runner).code, ExitCode::Stopped);

    FakeRunner at_its_time_limit;
    at_its_time_limit.rolls = {kBoth};
    at_its_time_limit.ends = {ended(5, true)};
    EXPECT_EQ(supervised(at_its_time_limit).code, ExitCode::Stopped);
}

TEST(AttemptLoop, WaitsForANodeToComeBack) {
    const NodeRoll none{{}, {{"a", "cannot be reached"}, {"b", "cannot be reached"}}};
    FakeRunner runner;
    runner.rolls = {kBoth, none, none, kOne};
    runner.ends = {ended(255, true), ended(0, false)};
    EXPECT_EQ(supervised(runner).code, ExitCode::Done);
    EXPECT_EQ(runner.pauses, 2);

    FakeRunner forever;
    forever.rolls = {none};
    const LaunchSummary summary = supervised(forever);
    EXPECT_EQ(summary.code, ExitCode::CannotRun);
    EXPECT_EQ(summary.excluded.size(), 2U);

    FakeRunner stopped;
    stopped.rolls = {none};
    stopped.stop_in_pause = true;
    EXPECT_EQ(supervised(stopped).code, ExitCode::Stopped);
}
