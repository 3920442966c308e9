#include "results/compare.h"

#include <cmath>
#include <limits>

#include "results/compare_report.h"
#include "results/rows.h"
#include "unit/results/result_fixtures.h"

// The fixtures are outside of an unnamed namespace: this file may be compiled with others in one batch, which
// GCC takes for a header.
namespace voltpile {

using namespace test;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Quantiles, AreExactForSmallWholeNumbers) {
    Quantiles quantiles;
    for (int i = 1; i <= 101; ++i) quantiles.add(i);
    EXPECT_EQ(quantiles.at(0), 1);
    EXPECT_EQ(quantiles.at(0.5), 51);
    EXPECT_EQ(quantiles.at(0.99), 100);
    EXPECT_EQ(quantiles.at(1), 101);
}

TEST(Quantiles, HaveThreeDigitsAndReachTheEndsOfDoubles) {
    for (const double value : {1.2345e-300, 3.14159, 9.8765e300}) {
        Quantiles quantiles;
        quantiles.add(value);
        EXPECT_LE(quantiles.at(0.5), value);
        EXPECT_GE(quantiles.at(0.5), value * (1 - 1.0 / 1024));  // ten bits are kept
    }
    Quantiles quantiles;
    EXPECT_TRUE(std::isnan(quantiles.at(0.5)));
    quantiles.add(0);
    EXPECT_EQ(quantiles.at(0.5), 0);
    quantiles.add(kInfinity);
    EXPECT_EQ(quantiles.at(1), kInfinity);
}

TEST(DifferenceStatistics, CountsWhatIsBeyondBothLimits) {
    DifferenceStatistics found({.absolute = 0.5, .relative = 0.01});
    found.add(1, 1);
    found.add(1, 1.5);      // within the absolute limit
    found.add(1000, 1009);  // within the relative limit
    found.add(-1, 1);       // beyond both
    found.add(0, 1);        // beyond both: all of the larger one
    found.add(2e6, 2.1e6);  // beyond both
    EXPECT_EQ(found.count, 6);
    EXPECT_EQ(found.identical, 1);
    EXPECT_EQ(found.beyond, 3);
    EXPECT_EQ(found.max_absolute, 2.1e6 - 2e6);
    EXPECT_EQ(found.max_relative, 2);  // of opposite signs
}

TEST(DifferenceStatistics, NanAgreesWithNanOnly) {
    DifferenceStatistics found({.absolute = 1e300});
    found.add(kNotANumber, kNotANumber);
    found.add(kNotANumber, 1);
    found.add(1, kNotANumber);
    EXPECT_EQ(found.nan_in_both, 1);
    EXPECT_EQ(found.nan_in_one, 2);
    EXPECT_EQ(found.identical, 1);
    EXPECT_EQ(found.beyond, 2);
    EXPECT_TRUE(std::isnan(found.absolute.at(0.5)));
}

TEST(DifferenceStatistics, InfinityAgreesWithItself) {
    DifferenceStatistics found({.absolute = 1e300, .relative = 0.5});
    found.add(kInfinity, kInfinity);
    found.add(kInfinity, 1);
    found.add(kInfinity, -kInfinity);
    EXPECT_EQ(found.identical, 1);
    EXPECT_EQ(found.beyond, 2);
    EXPECT_EQ(found.max_absolute, kInfinity);
    EXPECT_EQ(found.max_relative, 1);
}

TEST(ShareText, NeverRoundsToAllOrNothing) {
    EXPECT_EQ(share_text(1, 100'000'000), "0.0001 %");
    EXPECT_EQ(share_text(99'999'999, 100'000'000), "99.9999 %");
    EXPECT_EQ(share_text(1, 3), "33.3333 %");
    EXPECT_EQ(share_text(7, 7), "100 %");
    EXPECT_EQ(share_text(0, 7), "0 %");
    EXPECT_EQ(share_text(0, 0), "-");
}

class Compare : public testing::Test {
  protected:
    std::filesystem::path write(const std::string& name, const ResultLayout& of, WorkRange range,
                                const std::vector<FieldBuffer>& data) {
        const std::filesystem::path path = folder.path() / name;
        PartFolder parts(path, of, PartFolder::IfOther::Refuse);
        commit_part(parts.path(), of, range, data);
        return path;
    }
    std::string refusal(const ResultLayout& a, const ResultLayout& b, std::vector<std::string> names = {}) {
        const ResultReader first(write("a.h5", a, a.whole(), data_of(a, a.whole())));
        const ResultReader second(write("b.h5", b, b.whole(), data_of(b, b.whole())));
        const auto [message, code] = error_of([&] { compare(first, second, {}, names); });
        EXPECT_EQ(code, ExitCode::BadInput);
        return message;
    }
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }

    TemporaryFolder folder;
    ResultLayout layout =
        layout_of(some_axes({3, 2}), {field("steps", FieldType::Int32), field("energy", FieldType::Float64)});
};

TEST_F(Compare, ReportsEachField) {
    const ResultReader first(
        write("a.h5", layout, {0, 6},
              {buffer<std::int32_t>({1, 2, 3, 4, 5, 6}), buffer<double>({1, 2, 4, 8, 16, kNotANumber})}));
    const ResultReader second(
        write("b.h5", layout, {0, 6},
              {buffer<std::int32_t>({1, 2, 3, 4, 5, 6}), buffer<double>({1, 2.5, 4, 7, 16, 32})}));
    const Comparison found = compare(first, second, {.absolute = 0.5}, {});
    EXPECT_FALSE(found.agree());
    EXPECT_EQ(found.compared, 6);
    ASSERT_EQ(found.fields.size(), 2U);
    EXPECT_EQ(found.fields[0].found.identical, 6);
    EXPECT_EQ(found.fields[0].found.beyond, 0);
    const DifferenceStatistics& energy = found.fields[1].found;
    EXPECT_EQ(energy.identical, 3);
    EXPECT_EQ(energy.beyond, 2);  // 8 and 7; NaN and 32
    EXPECT_EQ(energy.nan_in_one, 1);
    EXPECT_EQ(energy.max_absolute, 1);
    EXPECT_EQ(energy.max_relative, 0.2);  // 2 and 2.5
    EXPECT_EQ(energy.absolute.at(0.5), 0);
    EXPECT_TRUE(compare(first, second, {}, {"steps"}).agree());
}

TEST_F(Compare, ComparesOnlyPointsThatBothHave) {
    const ResultReader first(write("a.h5", layout, {0, 4}, data_of(layout, {0, 4})));
    const ResultReader second(write("b.h5", layout, {1, 5}, data_of(layout, {1, 5})));
    const Comparison found = compare(first, second, {}, {});
    EXPECT_EQ(found.compared, 3);
    EXPECT_EQ(found.missing_in_first, 1);
    EXPECT_EQ(found.missing_in_second, 1);
    EXPECT_EQ(found.missing_in_both, 1);
    EXPECT_EQ(found.fields[0].found.identical, 3);
    EXPECT_FALSE(found.agree());
    EXPECT_TRUE(has(compare_text({"a.h5", "b.h5", {}}, found), "missing in a.h5: 1 point\n"));
}

TEST_F(Compare, ComparesListsNumberByNumberAndTextsAsAWhole) {
    FieldSpec list = field("list", FieldType::Float64), text = field("text", FieldType::Int32);
    list.shape = FieldShape::List;
    text.shape = FieldShape::Text;
    const ResultLayout rows = layout_of(some_axes({3}), {list, text});
    const auto values = [](const std::vector<std::vector<double>>& lists,
                           const std::vector<std::string>& texts) {
        RowsBuilder l, t;
        for (const auto& each : lists) l.add(std::span<const double>(each));
        for (const auto& each : texts) t.add(each);
        return std::vector<FieldBuffer>{l.take(), t.take()};
    };
    const ResultReader first(write("a.h5", rows, {0, 3}, values({{1, 2}, {3}, {}}, {"a", "b", ""})));
    const ResultReader second(write("b.h5", rows, {0, 3}, values({{1, 2.5}, {3, 4}, {}}, {"a", "B", ""})));
    const Comparison found = compare(first, second, {}, {});
    EXPECT_EQ(found.fields[0].found.count, 3);  // 1, 2 and the lists of different lengths
    EXPECT_EQ(found.fields[0].found.beyond, 2);
    EXPECT_EQ(found.fields[0].found.max_absolute, 0.5);
    EXPECT_EQ(found.fields[1].found.identical, 2);
    EXPECT_EQ(found.fields[1].found.beyond, 1);
}

TEST_F(Compare, NamesFieldsThatOnlyOneHas) {
    ResultLayout other = layout;
    other.fields[1].name = "drift";
    const ResultReader first(write("a.h5", layout, layout.whole(), data_of(layout, layout.whole())));
    const ResultReader second(write("b.h5", other, other.whole(), data_of(other, other.whole())));
    const Comparison found = compare(first, second, {}, {});
    EXPECT_TRUE(found.agree());
    EXPECT_EQ(found.only_in_first, std::vector<std::string>{"energy"});
    EXPECT_EQ(found.only_in_second, std::vector<std::string>{"drift"});
}

TEST_F(Compare, RejectsOtherPointsUnitsAndShapes) {
    ResultLayout other = layout;
    other.axes[0].to = 21;
    EXPECT_TRUE(has(refusal(layout, other), "different points"));
    other = layout;
    other.axes[1].unit = "km";
    EXPECT_TRUE(has(refusal(layout, other), "unit \"km\""));
    other = layout;
    other.fields[1].unit = "J";
    EXPECT_TRUE(has(refusal(layout, other),
                    "the field energy has another unit in the second result: \"J\", not \"1\""));
    other = layout;
    other.fields[1].dimensions = {{"body", {"sun", "moon"}}};
    EXPECT_TRUE(
        has(refusal(layout, other), "another shape in the second result: body (sun, moon), not none"));
    other = layout;
    other.fields = {field("drift", FieldType::Float64)};
    EXPECT_TRUE(has(refusal(layout, other), "no field in common"));
    EXPECT_TRUE(has(refusal(layout, other, {"steps"}), "b.h5 has no field steps; it has drift"));
}

}  // namespace voltpile
