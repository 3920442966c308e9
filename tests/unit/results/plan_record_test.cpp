#include "results/plan_record.h"

#include <cmath>

#include "results/result_reader.h"
#include "results/show.h"
#include "results/verify.h"
#include "unit/results/result_fixtures.h"

// The fixtures are outside of an unnamed namespace: this file may be compiled with others in one batch, which
// GCC takes for a header.
namespace voltpile {

using namespace test;

class PlanOfResult : public testing::Test {
  protected:
    PlanOfResult() {
        record.unit = "pair-steps";
        record.points = 6;
        record.seconds = {40, 50};
        record.start_seconds = {10, 12};
        record.end_seconds.planned = 5;
        record.units = {8e9, 7e9};
        record.ranks.resize(2);
        record.ranks[0] = {"GPU 0 (Tesla V100-SXM2-16GB) of a", {2e8, 1.9e8}, {1e8, 1.5e8}, {5e8, 6e8}, 49};
        record.ranks[1] = {"4 cores of Xeon of b", {1e7, 1.1e7}, {3e8, 1e8}, {}, 48.5};
    }
    void write() {
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        commit_all(parts.path(), layout, {0, 6});
        voltpile::consolidate(parts.life(), layout, scan_parts(parts.path(), layout).parts, some_provenance(),
                              &record);
        parts.remove();
    }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({3, 2}), {field("steps", FieldType::Int32)});
    PlanRecord record;
};

TEST_F(PlanOfResult, IsStoredInTheResult) {
    write();
    const auto found = read_plan_record(result);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->unit, "pair-steps");
    EXPECT_EQ(found->points, 6);
    EXPECT_EQ(found->seconds.planned, 40);
    EXPECT_EQ(found->seconds.measured, 50);
    EXPECT_EQ(found->start_seconds.planned, 10);
    EXPECT_EQ(found->start_seconds.measured, 12);
    EXPECT_EQ(found->end_seconds.planned, 5);
    EXPECT_TRUE(std::isnan(found->end_seconds.measured));
    EXPECT_EQ(found->units.measured, 7e9);
    EXPECT_TRUE(std::isnan(found->joules.planned));
    ASSERT_EQ(found->ranks.size(), 2U);
    EXPECT_EQ(found->ranks[0].processor, "GPU 0 (Tesla V100-SXM2-16GB) of a");
    EXPECT_EQ(found->ranks[0].gpu_bytes.measured, 6e8);
    EXPECT_EQ(found->ranks[1].host_bytes.planned, 3e8);
    EXPECT_EQ(found->ranks[1].units_per_s.measured, 1.1e7);
    EXPECT_EQ(found->ranks[1].busy_seconds, 48.5);
    EXPECT_TRUE(std::isnan(found->ranks[1].gpu_bytes.planned));
    const Verification verified = verify_result(result);
    EXPECT_TRUE(verified.ok()) << (verified.damage.empty() ? "" : verified.damage.front().problem);
}

TEST_F(PlanOfResult, IsMissingFromOlderResults) {
    make_result(result, layout, {0, 6});
    EXPECT_FALSE(read_plan_record(result));
    EXPECT_EQ(show_text(ResultReader(result)).find("planned"), std::string::npos);
    EXPECT_FALSE(read_plan_record(folder.path() / "missing.h5"));
}

// 8e9 in 40 s are 2e8 per second, 7e9 in 50 s are 1.4e8: 30 % less.
TEST_F(PlanOfResult, IsShownBesideWhatWasMeasured) {
    EXPECT_EQ(plan_record_text(record),
              "  plan                             planned  measured  difference\n"
              "  time                                40 s      50 s     +25.0 %\n"
              "  start                               10 s      12 s     +20.0 %\n"
              "  end                               5.00 s         -\n"
              "  pair-steps                         8e+09     7e+09     -12.5 %\n"
              "  pair-steps/s                       2e+08   1.4e+08     -30.0 %\n"
              "  host memory of the fullest rank   300 MB    150 MB     -50.0 %\n"
              "  GPU memory of the fullest rank    500 MB    600 MB     +20.0 %\n");
    record.joules = {7200, std::numeric_limits<double>::quiet_NaN()};
    EXPECT_NE(plan_record_text(record).find("2 Wh"), std::string::npos);
    write();
    EXPECT_NE(show_text(ResultReader(result)).find(plan_record_text(record)), std::string::npos);
}

TEST_F(PlanOfResult, IsVerified) {
    record.ranks[0].busy_seconds = 1234.5;
    write();
    std::string bytes = file_text(result);
    const double value = 1234.5;  // occurs once in the file
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
    ASSERT_NE(at, std::string::npos);
    bytes[at] ^= 1;
    write_text_file(result, bytes);
    const Verification verified = verify_result(result);
    ASSERT_EQ(verified.damage.size(), 1U);
    EXPECT_EQ(verified.damage.front().problem, "the values of plan/busy_time do not match their checksum");
}

}  // namespace voltpile
