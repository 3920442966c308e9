#include "results/show.h"
#include "results/rows.h"

#include <cmath>
#include <sstream>

#include "results/statistics.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Returns the line that begins with this word.
std::string line_of(const std::string& text, const std::string& word) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  " + word + " ")) return line;
    }
    return "";
}

TEST(Statistics, CoverFiniteValuesOnly) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    Statistics s;
    for (double value : {1.0, 5.0, nan, 3.0, 5.0, infinity, -2.0, nan, -infinity}) s.add(value);
    EXPECT_EQ(s.min, -2);
    EXPECT_EQ(s.max, 5);
    EXPECT_EQ(s.mean(), 12.0 / 5);
    EXPECT_EQ(s.finite, 5);
    EXPECT_EQ(s.nan, 2);
    EXPECT_EQ(s.infinite, 2);
    EXPECT_EQ(s.at_maximum, 2);
}

class Show : public testing::Test {
  protected:
    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(
        {axis("x", -20, 20, 4), axis("y", 1, 2, 3, true)},
        {field("steps", FieldType::Int32), field("energy", FieldType::Float64, {{"body", {"sun", "moon"}}})});
};

TEST_F(Show, DescribesAFinishedResult) {
    {
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        const std::vector<std::int32_t> steps{7, 7, 7, 1, 2, 3, 4, 5, 6, 7, 7, 7};
        std::vector<double> energy(24, 0.5);
        energy[3] = NAN;
        energy[10] = -1.5;
        commit_part(parts.path(), layout, {0, 12}, {buffer(steps), buffer(energy)});
        consolidate(result, layout, scan_parts(parts.path(), layout).parts, some_provenance());
        parts.remove();
    }
    const std::string text = show_text(ResultReader(result));
    EXPECT_TRUE(
        has(text, result.string() + ": complete result of the threebody job jobs/threebody/tiny.toml"))
        << text;
    EXPECT_TRUE(has(text, "12 of 12 points (100 %)")) << text;
    EXPECT_TRUE(has(line_of(text, "x"), "4")) << text;
    EXPECT_TRUE(has(line_of(text, "x"), "-20")) << text;
    EXPECT_TRUE(has(line_of(text, "x"), "10")) << text;  // the last of 4, without the end
    EXPECT_TRUE(has(line_of(text, "x"), "system.position[0].x")) << text;
    EXPECT_TRUE(has(line_of(text, "body"), "sun, moon")) << text;
    const std::string steps = line_of(text, "steps");  // mean 63/12, 6 of 12 at the maximum
    for (const char* part : {"int32", "(y, x)", " 1 ", " 7 ", " 5.25 ", "50.00 %", "the steps of the pair"}) {
        EXPECT_TRUE(has(steps, part)) << part << "\n" << text;
    }
    const std::string energy = line_of(text, "energy");  // 22 times 0.5 and -1.5: mean 9.5/23
    for (const char* part : {"float64", "(y, x, body)", " -1.5 ", " 0.5 ", " 0.4130435 ", "95.65 %", " 1 "}) {
        EXPECT_TRUE(has(energy, part)) << part << "\n" << text;
    }
    for (const char* part : {"voltpile 0.1.0 (revision 1a2b3c4d5e6f)", "2024-05-06 07:08:09 +0200",
                             "2 hosts (a, b): 8x Tesla V100-SXM2-16GB", "somebody",
                             "sweep.x.count=5 integrate.steps=10", "0123456789abcdef0123456789abcdef"}) {
        EXPECT_TRUE(has(text, part)) << part << "\n" << text;
    }
}

TEST_F(Show, DescribesAnUnfinishedResult) {
    const PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_part(parts.path(), layout, {2, 5},
                {buffer<std::int32_t>({1, 2, 3}), buffer<double>({1, 1, 1, 1, 1, 1})});
    const std::string text = show_text(ResultReader(result));
    EXPECT_TRUE(has(text, "unfinished result of the threebody job")) << text;
    EXPECT_TRUE(has(text, "3 of 12 points (25.00 %), 2 ranges missing")) << text;
    EXPECT_TRUE(has(line_of(text, "steps"), " 2 ")) << text;  // the mean without missing points
}

TEST_F(Show, DescribesASinglePoint) {
    layout.axes.clear();
    make_result(result, layout, {0, 1});
    EXPECT_TRUE(has(show_text(ResultReader(result)), "1 of 1 point (100 %)"));
}

// A result that lacks one point in a million is not at 100 %.
TEST_F(Show, NeverRoundsUpToWhole) {
    layout = layout_of(some_axes({1'000'000}), {field("steps", FieldType::Int32)});
    const PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_all(parts.path(), layout, {0, 999'999});
    EXPECT_TRUE(
        has(show_text(ResultReader(result)), "999,999 of 1,000,000 points (99.99 %), 1 range missing"));
}

class ShowTexts : public Show {
  protected:
    void SetUp() override {
        FieldSpec text = field("text", FieldType::Int32);
        text.shape = FieldShape::Text;
        layout = layout_of({axis("x", 0, 10, 5)}, {field("steps", FieldType::Int32), text});
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        RowsBuilder texts;
        // The 64th byte is the first half of a letter.
        for (const std::string& each :
             {std::string("And it came\n  to pass"), std::string(63, 'a') + "\xc3\xbc!", std::string(),
              std::string("fourth")})
            texts.add(std::string_view(each));
        commit_part(parts.path(), layout, {0, 4}, {buffer<std::int32_t>({5, 6, 7, 8}), texts.take()});
    }
};

TEST_F(ShowTexts, ShowsTheBeginningsOfTexts) {
    const std::string text = show_text(ResultReader(result));
    EXPECT_TRUE(has(text, "    0  And it came to pass\n")) << text;
    EXPECT_TRUE(has(text, "    1  " + std::string(63, 'a') + "...\n")) << text;
    EXPECT_FALSE(has(text, "fourth")) << text;
    EXPECT_TRUE(has(text, "voltpile show --row N")) << text;
}

TEST_F(ShowTexts, ShowsAWholeRow) {
    const ResultReader reader(result);
    EXPECT_EQ(row_text(reader, 0), result.string() +
                                       ": row 0 of 5\n"
                                       "  x      0.0\n"
                                       "  steps  5\n"
                                       "  text   And it came\n"
                                       "           to pass\n");
    EXPECT_EQ(row_text(reader, 3),
              result.string() + ": row 3 of 5\n  x      6.0\n  steps  8\n  text   fourth\n");
    EXPECT_TRUE(has(error_of([&] { row_text(reader, 4); }).first, "does not have this row yet"));
    EXPECT_TRUE(has(error_of([&] { row_text(reader, 5); }).first, "has the rows 0 to 4"));
}

TEST_F(Show, ReportsAStoppedFreshRunAsUnfinished) {
    make_result(result, layout, {0, 12});
    commit_all(PartFolder(result, layout, PartFolder::IfOther::Discard).path(), layout, {0, 3});
    const std::string text = show_text(ResultReader(result));
    EXPECT_TRUE(has(text, "unfinished result")) << text;
    EXPECT_TRUE(has(text, "3 of 12 points (25.00 %)")) << text;
    EXPECT_TRUE(has(text, "the earlier result stays")) << text;
}

}  // namespace
}  // namespace voltpile
