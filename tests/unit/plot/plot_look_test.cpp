// Tests what changes the look of a picture: scaling, crop, averages, contours, relief, depth, two results.
#include <fmt/format.h>
#include <algorithm>

#include <cmath>
#include <numbers>

#include "plot/plot.h"
#include "unit/plot/png_fixtures.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

class PlotLook : public testing::Test {
  protected:
    void commit(const std::function<double(std::int64_t)>& value) { commit_to(result, value); }
    void commit_to(const std::filesystem::path& path, const std::function<double(std::int64_t)>& value) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < layout.point_count(); ++i) values.push_back(value(i));
        PartFolder parts(path, layout, PartFolder::IfOther::Refuse);
        commit_part(parts.path(), layout, layout.whole(), {buffer(values)});
    }
    // A pixel per point unless the options say otherwise.
    Picture draw(PlotOptions options) {
        options.bare = true;
        if (options.size == 0) options.size = layout.axes[0].count;
        return read_png(plot(ResultReader(result), options));
    }
    std::string refusal(const PlotOptions& options) {
        const auto [message, code] = error_of([&] { plot(ResultReader(result), options); });
        EXPECT_EQ(code, ExitCode::BadInput);
        return message;
    }
    std::string chunk() const { return file_text(folder.path() / "map.png"); }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({4, 4}), {field("energy", FieldType::Float64)});
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// numpy: (np.searchsorted(np.sort(v), v, "right") - m) / (v.size - m), m = values that equal the least.
TEST_F(PlotLook, EqualizesTheHistogram) {
    const double values[16] = {1, 1, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 1e9, 1e9, -1e300};
    commit([&](std::int64_t i) { return values[i]; });
    const Picture picture = draw({.scaling = "equalized"});
    const double positions[16] = {4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 15, 0};  // of 15
    for (std::int64_t i = 0; i < 16; ++i)
        EXPECT_EQ(picture.at(i % 4, i / 4), map_color(ColorMap::Inferno, positions[i] / 15)) << i;
    EXPECT_TRUE(contains(chunk(), "equalized"));
}

TEST_F(PlotLook, ColorsOnlyPositiveValuesOnALogarithmicScale) {
    commit([](std::int64_t i) { return i == 0 ? 0.0 : i == 1 ? -5.0 : i == 2 ? 1e-2 : 1e2; });
    const Picture picture = draw({.map = "cividis", .scaling = "log"});
    EXPECT_EQ(picture.at(0, 0), missing_color(ColorMap::Cividis));
    EXPECT_EQ(picture.at(1, 0), missing_color(ColorMap::Cividis));
    EXPECT_EQ(picture.at(2, 0), map_color(ColorMap::Cividis, 0));
    EXPECT_EQ(picture.at(3, 0), map_color(ColorMap::Cividis, 1));
}

TEST_F(PlotLook, RefusesALogarithmicScaleWithoutPositiveValues) {
    commit([](std::int64_t i) { return i == 3 ? NAN : -static_cast<double>(i); });
    EXPECT_EQ(
        refusal({.scaling = "log"}),
        "energy: none of its 15 values is positive, so they have no logarithms; take linear or equalized "
        "scaling");
    EXPECT_TRUE(contains(refusal({.scaling = "equalised"}), "did you mean equalized?"));
}

// The points of x are -20, -10, 0 and 10.
TEST_F(PlotLook, CropsToPointsBetweenTwoValues) {
    commit([](std::int64_t i) { return static_cast<double>(i); });
    const std::string x = layout.axes[0].name;
    const double first = layout.axes[0].value(1), last = layout.axes[0].value(2);
    const Picture picture = draw({.crop = {fmt::format("{}={}:{}", x, last + 0.1, first - 0.1)}, .size = 4});
    EXPECT_EQ(picture.width, 2);  // 4 pixels for 4 rows
    EXPECT_EQ(picture.height, 4);
    EXPECT_EQ(picture.at(0, 0), map_color(ColorMap::Inferno, 0));  // point 1
    EXPECT_EQ(picture.at(1, 3), map_color(ColorMap::Inferno, 1));  // point 14
    EXPECT_EQ(picture.at(0, 2), map_color(ColorMap::Inferno, 8.0 / 13));
    EXPECT_TRUE(
        contains(refusal({.crop = {x + "=-1000:0"}}), "outside the axis: " + x + " goes from -20 to "));
    EXPECT_TRUE(contains(refusal({.crop = {x + "=1:2"}}), "there is no point between"));
    EXPECT_TRUE(contains(refusal({.crop = {"q=0:1"}}), "q is not an axis of the picture"));
    EXPECT_TRUE(contains(refusal({.crop = {x + "=0"}}), "not of the form name=from:to"));
    EXPECT_TRUE(contains(refusal({.crop = {x + "=a:1"}}), "a is not a number"));
    EXPECT_TRUE(contains(refusal({.crop = {x + "=-20:10", x + "=-20:10"}}), "cropped twice"));
}

// Blocks of 2 x 2 points; the last column and row have blocks of 1.
TEST_F(PlotLook, AveragesFiniteValuesOfBlocks) {
    layout.axes = some_axes({5, 3});
    commit([](std::int64_t i) {
        return i == 0 ? NAN : i == 4 || i == 9 ? INFINITY : static_cast<double>(i);
    });
    const Picture picture = draw({.size = 3});
    ASSERT_EQ(picture.width, 3);
    ASSERT_EQ(picture.height, 2);
    // (1 + 5 + 6) / 3, (2 + 3 + 7 + 8) / 4, none; (10 + 11) / 2, (12 + 13) / 2, 14
    const double means[6] = {4, 5, NAN, 10.5, 12.5, 14};
    for (std::int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(picture.at(i % 3, i / 3), std::isnan(means[i])
                                                ? missing_color(ColorMap::Inferno)
                                                : map_color(ColorMap::Inferno, (means[i] - 4) / 10))
            << i;
}

// The field is x + y/1000, so that the line of 1.5 is nearly upright between the middle columns of 4.
TEST_F(PlotLook, DrawsContoursBetweenPoints) {
    commit([](std::int64_t i) { return static_cast<double>(i % 4) + static_cast<double>(i / 4) / 1000; });
    const Picture plain = draw({.size = 400}), lines = draw({.contours = {1.5}, .size = 400});
    for (std::int64_t y = 0; y < 400; ++y) {
        int drawn = 0;
        for (std::int64_t x = 0; x < 400; ++x) {
            if (lines.at(x, y) == plain.at(x, y)) continue;
            ++drawn;
            EXPECT_NEAR(static_cast<double>(x), 199.5, 2) << y;
            EXPECT_TRUE(lines.at(x, y) == (Rgb{255, 255, 255}) || lines.at(x, y) == (Rgb{0, 0, 0}));
        }
        EXPECT_TRUE(drawn >= 1 && drawn <= 3) << y;
    }
    EXPECT_TRUE(
        contains(refusal({.contours = {7}}), "--contour 7: outside the data: energy goes from 0 to 3"));
}

// A slope that faces the light is brighter than one that faces away, and a level one is as without --shade.
TEST_F(PlotLook, ShadesSlopes) {
    layout.axes = some_axes({40, 40});
    commit([](std::int64_t i) {
        const double x = static_cast<double>(i % 40);
        return x < 10 || x > 30 ? 0.0 : 10 - std::abs(x - 20);
    });
    const Picture plain = draw({}), relief = draw({.shade = true});
    EXPECT_EQ(relief.at(3, 20), plain.at(3, 20));
    const auto sum = [](Rgb c) { return c.red + c.green + c.blue; };
    EXPECT_GT(sum(relief.at(15, 20)), sum(plain.at(15, 20)));
    EXPECT_LT(sum(relief.at(25, 20)), sum(plain.at(25, 20)));
}

TEST_F(PlotLook, ColorsAnglesAroundTheirPeriod) {
    commit([](std::int64_t i) { return 90.0 * static_cast<double>(i - 8); });
    const Picture picture = draw({.period = 360});
    for (std::int64_t i = 0; i < 16; ++i)
        EXPECT_EQ(picture.at(i % 4, i / 4), map_color(ColorMap::Twilight, static_cast<double>(i % 4) / 4))
            << i;
    EXPECT_TRUE(contains(refusal({.period = -1}), "--period -1: must be a positive number"));
}

TEST_F(PlotLook, WritesSixteenBitsPerColor) {
    commit([](std::int64_t i) { return static_cast<double>(i); });
    draw({.deep = true});
    EXPECT_EQ(chunk()[24], 16);  // IHDR: length, type, width, height, bit depth
    draw({});
    EXPECT_EQ(chunk()[24], 8);
}

TEST_F(PlotLook, DrawsTwoResultsAndTheirDifference) {
    commit([](std::int64_t i) { return static_cast<double>(i); });
    const std::filesystem::path other = folder.path() / "other.h5";
    commit_to(other, [](std::int64_t i) { return static_cast<double>(i == 5 ? 25 : i); });
    const Picture picture = draw({.against = other});
    ASSERT_EQ(picture.width, 12);
    EXPECT_EQ(picture.at(1, 1), map_color(ColorMap::Inferno, 5.0 / 25));
    EXPECT_EQ(picture.at(5, 1), map_color(ColorMap::Inferno, 1));
    EXPECT_EQ(picture.at(9, 1), map_color(ColorMap::Inferno, 1));
    EXPECT_EQ(picture.at(8, 1), map_color(ColorMap::Inferno, 0));
}

// Two pixels per character: the upper one is the character's color, the lower one its background.
TEST_F(PlotLook, DrawsHalfBlocksOnATerminal) {
    layout.axes = some_axes({2, 2});
    commit([](std::int64_t i) { return static_cast<double>(i); });
    const auto color = [](int kind, double value) {
        const Rgb rgb = map_color(ColorMap::Inferno, value / 3);
        return fmt::format("\033[{};2;{};{};{}m", kind, rgb.red, rgb.green, rgb.blue);
    };
    const std::string text = terminal_plot(ResultReader(result), {}, {3, 5});  // a row of text for the field
    const std::string row =
        color(38, 0) + color(48, 2) + "\u2580" + color(38, 1) + color(48, 3) + "\u2580\033[0m\n";
    EXPECT_TRUE(contains(text, "\n" + row)) << text;
    // 2 x 2 points on one column: their mean, and below them nothing.
    EXPECT_TRUE(contains(terminal_plot(ResultReader(result), {}, {1, 5}), color(38, 0) + "\u2580\033[0m\n"));
}

TEST_F(PlotLook, ColorsWholeNumbersAsClasses) {
    EXPECT_TRUE(contains(
        [&] {
            commit([](std::int64_t i) { return static_cast<double>(i); });
            return refusal({.map = "classes"});
        }(),
        "--map classes colors whole numbers, which energy does not have"));
    const TemporaryFolder another;
    result = another.path() / "map.h5";
    layout.fields[0] = field("why", FieldType::Int32);
    layout.fields[0].labels = {"end", "length", "stop"};
    {
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        std::vector<std::int32_t> values;
        for (std::int32_t i = 0; i < 16; ++i) values.push_back(i % 3);
        commit_part(parts.path(), layout, layout.whole(), {buffer(values)});
    }
    const Picture picture = draw({});
    for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(picture.at(i % 4, i / 4), class_color(i % 3)) << i;
    EXPECT_TRUE(contains(refusal({.contours = {1}}), "--contour: classes have no levels"));
}

}  // namespace
}  // namespace voltpile
