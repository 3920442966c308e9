#include "results/telemetry_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "results/stored_telemetry.h"
#include "unit/base/temporary_folder.h"

namespace voltpile {
namespace {

using Doubles = std::vector<double>;

NodeTelemetry piece_of(const Doubles& times_s, const Doubles& power_w) {
    NodeTelemetry node;
    node.host = "node1";
    node.times_s = times_s;
    node.columns = {{"power_w", "W", "0000:15:00.0", power_w}};
    return node;
}

class TelemetryLogTest : public testing::Test {
  protected:
    void add(const TelemetryLog& log, const NodeTelemetry& piece) {
        write_telemetry_file(log.life(), 0, files_++, telemetry_csv(piece));
    }
    NodeTelemetry stored() const { return stored_telemetry(file_).at(0); }

    test::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_.path() / "lab.telemetry.h5";
    int files_ = 0;
};

TEST_F(TelemetryLogTest, JoinsTheSamplesOfARunThatWasKilled) {
    {
        const TelemetryLog killed(file_);  // its samples stay
        add(killed, piece_of({10, 11}, {100, 101}));
    }
    TelemetryLog log(file_);
    add(log, piece_of({20}, {200}));
    EXPECT_EQ(stored_telemetry(file_).size(), 2u);  // of each life, before the file is there
    EXPECT_TRUE(log.finish(7, 3));
    EXPECT_EQ(stored().times_s, (Doubles{10, 11, 20}));
    EXPECT_EQ(stored().columns.at(0).values, (Doubles{100, 101, 200}));
    EXPECT_FALSE(std::filesystem::exists(telemetry_samples(file_)));
}

TEST_F(TelemetryLogTest, SortsSamplesIfTheClockWasSetBackBetweenTwoRuns) {
    {
        const TelemetryLog killed(file_);
        add(killed, piece_of({10, 12, 14}, {100, 102, 104}));
    }
    TelemetryLog log(file_);
    add(log, piece_of({11, 13, 15}, {201, 203, 205}));
    log.finish(0, 0);
    EXPECT_EQ(stored().times_s, (Doubles{10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(stored().columns.at(0).values, (Doubles{100, 201, 102, 203, 104, 205}));
}

TEST_F(TelemetryLogTest, ARunThatTakesOverEndsTheOther) {
    TelemetryLog first(file_);
    add(first, piece_of({10}, {100}));
    TelemetryLog second(file_);
    EXPECT_THROW(add(first, piece_of({11}, {101})), TakenOverError);
    EXPECT_THROW(first.finish(0, 0), TakenOverError);
    EXPECT_TRUE(second.finish(0, 0));
    EXPECT_EQ(stored().times_s, (Doubles{10}));
}

TEST_F(TelemetryLogTest, WritesNoFileWithoutSamples) {
    TelemetryLog log(file_);
    EXPECT_FALSE(log.finish(0, 0));
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace voltpile
