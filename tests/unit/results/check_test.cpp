#include "results/check.h"

#include <cmath>
#include <limits>
#include <set>

#include "results/verify.h"
#include "unit/results/result_fixtures.h"

// The fixtures are outside of an unnamed namespace: this file may be compiled with others in one batch, which
// GCC takes for a header.
namespace voltpile {

using namespace test;

TEST(SamplePoints, AreDistinctSortedAndInside) {
    for (const std::int64_t points : {1LL, 7LL, 1000LL, 1LL << 40}) {
        for (const std::int64_t count : {0LL, 1LL, 6LL, 500LL}) {
            const std::vector<std::int64_t> sample = sample_points(points, count, 3);
            EXPECT_EQ(std::ssize(sample), std::min(points, count));
            EXPECT_TRUE(std::ranges::is_sorted(sample));
            EXPECT_EQ(std::set<std::int64_t>(sample.begin(), sample.end()).size(), sample.size());
            for (const std::int64_t point : sample) {
                EXPECT_GE(point, 0);
                EXPECT_LT(point, points);
            }
        }
    }
    EXPECT_EQ(sample_points(3, 10, 1), (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(sample_points(1000, 10, 1), sample_points(1000, 10, 1));
    EXPECT_NE(sample_points(1000, 10, 1), sample_points(1000, 10, 2));
}

// Each of 10 points is in a sample of 3 with probability 0.3: over 10,000 samples 3,000 times, within five
// standard deviations of sqrt(10,000 * 0.3 * 0.7) = 46.
TEST(SamplePoints, AreEquallyLikely) {
    std::vector<int> hits(10);
    for (std::uint64_t seed = 0; seed < 10'000; ++seed)
        for (const std::int64_t point : sample_points(10, 3, seed)) ++hits[static_cast<std::size_t>(point)];
    for (const int each : hits) EXPECT_NEAR(each, 3000, 230);
}

class CheckOfResult : public testing::Test {
  protected:
    CheckOfResult() {
        write(result, layout, {0, 6},
              {buffer<std::int32_t>({1, 2, 3, 4, 5, 6}),
               buffer<double>({0, 0, 1, 1, 2, 2, 3, 3, 4, kNan, 5, 5})});
        ResultLayout sampled = layout;
        sampled.axes = {axis("sample", 0, 4, 4)};
        // Differences of the energies of points 1, 2, 4 and 5: 0.5, 0, infinite (NaN in one), 2.
        write(reference, sampled, {0, 4},
              {buffer<std::int32_t>({2, 3, 5, 6}), buffer<double>({1, 1.5, 2, 2, 4, 4, 3, 5})});
    }
    static void write(const std::filesystem::path& path, const ResultLayout& of, WorkRange range,
                      const std::vector<FieldBuffer>& data) {
        PartFolder parts(path, of, PartFolder::IfOther::Refuse);
        commit_part(parts.path(), of, range, data);
        consolidate(parts.life(), of, scan_parts(parts.path(), of).parts, some_provenance());
        parts.remove();
    }
    ResultCheck check(double within) {
        return write_check(result, ResultReader(reference), {1, 2, 4, 5},
                           {"rkn8 at 1e-14", "abc", 7, within});
    }

    static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    std::filesystem::path reference = folder.path() / "reference.h5";
    ResultLayout layout = layout_of(
        some_axes({3, 2}),
        {field("steps", FieldType::Int32), field("energy", FieldType::Float64, {{"body", {"sun", "moon"}}})});
};

TEST_F(CheckOfResult, IsStoredInTheResult) {
    EXPECT_FALSE(read_check(result));
    check(0.5);
    const auto found = read_check(result);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->points, 4);
    EXPECT_EQ(found->method, "rkn8 at 1e-14");
    EXPECT_EQ(found->fingerprint, "abc");
    EXPECT_EQ(found->seed, 7);
    ASSERT_EQ(found->fields.size(), 2U);
    EXPECT_EQ(found->fields[0].name, "steps");
    EXPECT_EQ(found->fields[0].largest, 0);
    EXPECT_EQ(found->fields[0].share_within, 1);
    const CheckedField& energy = found->fields[1];
    EXPECT_EQ(energy.median, 0.5);  // of 0, 0.5, 2 and infinity
    EXPECT_EQ(energy.percentile_99, 2);
    EXPECT_EQ(energy.largest, std::numeric_limits<double>::infinity());
    EXPECT_EQ(energy.share_within, 0.5);
    EXPECT_EQ(
        check_text(*found),
        "4 points against rkn8 at 1e-14: steps within 0.5 at 100 %, median 0; energy within 0.5 at 50 %, "
        "median 0.5");
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"map.h5", "reference.h5"}));
}

TEST_F(CheckOfResult, KeepsASymbolicLinkToTheResult) {
    const std::filesystem::path elsewhere = folder.path() / "elsewhere.h5";
    std::filesystem::rename(result, elsewhere);
    std::filesystem::create_symlink("elsewhere.h5", result);
    check(0.5);
    EXPECT_TRUE(std::filesystem::is_symlink(result));
    EXPECT_TRUE(read_check(elsewhere));
}

TEST_F(CheckOfResult, LeavesTheResultIntactAndIsReplacedByTheNext) {
    const ResultReader before(result);
    check(0.5);
    check(3);
    EXPECT_EQ(read_check(result)->fields[1].share_within, 0.75);
    const Verification verified = verify_result(result);
    EXPECT_TRUE(verified.ok()) << (verified.damage.empty() ? "" : verified.damage.front().problem);
    const ResultReader after(result);
    EXPECT_EQ(after.read(layout.fields[0], {0, 6}), before.read(layout.fields[0], {0, 6}));
}

TEST_F(CheckOfResult, IsVerified) {
    check(0.5);
    std::string bytes = file_text(result);
    // The reference 1.5 occurs once in the file.
    const double value = 1.5;
    const std::string pattern(reinterpret_cast<const char*>(&value), sizeof value);
    const std::size_t at = bytes.find(pattern);
    ASSERT_NE(at, std::string::npos);
    bytes[at] ^= 1;
    write_text_file(result, bytes);
    const Verification verified = verify_result(result);
    ASSERT_EQ(verified.damage.size(), 1U);
    EXPECT_EQ(verified.damage[0].problem, "the values of check/energy do not match their checksum");
}

}  // namespace voltpile
