// Tests pictures with their frame by reading pixels.
#include "plot/frame.h"

#include <algorithm>
#include <cmath>

#include "plot/axis_ticks.h"
#include "plot/plot.h"
#include "unit/plot/png_fixtures.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

constexpr Rgb black{0, 0, 0}, white{255, 255, 255}, gray{128, 128, 128};
constexpr Rgb least{0, 0, 3}, middle{187, 55, 84}, greatest{252, 254, 164};  // of matplotlib's "inferno"

// Returns the inside of the first black rectangle of that width in pixels, from the top.
Box find_frame(const Picture& picture, std::int64_t from_x, std::int64_t inner_width) {
    for (std::int64_t y = 0; y < picture.height; ++y) {
        std::int64_t run = 0;
        for (std::int64_t x = from_x; x <= picture.width; ++x) {
            if (x < picture.width && picture.at(x, y) == black) {
                ++run;
                continue;
            }
            if (run >= inner_width + 2) {
                Box box{x - run + 1, y + 1, run - 2, 0};
                while (picture.at(box.x, box.y + box.height) != black) ++box.height;
                return box;
            }
            run = 0;
        }
    }
    throw std::runtime_error("no frame");
}

class Frame : public testing::Test {
  protected:
    void commit(const std::function<double(std::int64_t)>& value) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < layout.point_count(); ++i) values.push_back(value(i));
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        commit_part(parts.path(), layout, layout.whole(), {buffer(values)});
    }
    Picture draw(bool bare = false) { return read_png(plot(ResultReader(result), {.bare = bare})); }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({40, 40}), {field("energy", FieldType::Float64)});
};

void expect_white_edge(const Picture& picture) {
    for (std::int64_t y = 0; y < picture.height; ++y) {
        for (std::int64_t x = 0; x < picture.width; ++x) {
            const bool inside = std::min({x, y, picture.width - 1 - x, picture.height - 1 - y}) >= 3;
            ASSERT_TRUE(inside || picture.at(x, y) == white) << "something is cut off at " << x << ", " << y;
        }
    }
}

TEST_F(Frame, KeepsTheFieldsPixelsForAnyShape) {
    const std::vector<std::vector<std::int64_t>> shapes{{20, 30}, {1, 1}, {1000, 3}, {3, 1000}, {37}, {1200}};
    for (const auto& shape : shapes) {
        const TemporaryFolder other;
        result = other.path() / "map.h5";
        layout.axes = some_axes(shape);
        commit([](std::int64_t i) { return i % 7 == 3 ? NAN : std::sin(static_cast<double>(i)); });
        const Picture bare = draw(true), picture = draw();
        const Box frame = find_frame(picture, 0, bare.width);
        ASSERT_EQ(frame.width, bare.width);
        ASSERT_EQ(frame.height, bare.height);
        for (std::int64_t y = 0; y < bare.height; ++y)
            for (std::int64_t x = 0; x < bare.width; ++x)
                ASSERT_EQ(picture.at(frame.x + x, frame.y + y), bare.at(x, y)) << x << ", " << y;
        expect_white_edge(picture);
    }
}

// Returns the middles of the runs of marked places along a line; places closer than `near` form one run.
std::vector<double> middles(const std::vector<std::int64_t>& places, std::int64_t near) {
    std::vector<double> out;
    for (std::size_t i = 0, begin = 0; i < places.size(); ++i) {
        if (i + 1 < places.size() && places[i + 1] - places[i] < near) continue;
        out.push_back(static_cast<double>(places[begin] + places[i]) / 2);
        begin = i + 1;
    }
    return out;
}

// 40 points from -20 on, 1 apart, 20 pixels each: -20, -15 ... 15 are in the middles of every fifth.
TEST_F(Frame, PlacesTicksAtTheirPoints) {
    commit([](std::int64_t i) { return static_cast<double>(i); });
    const Picture picture = draw();
    const Box frame = find_frame(picture, 0, 800);
    std::vector<std::int64_t> ticks, expected, ink;
    for (std::int64_t x = 0; x < 800; ++x) {
        if (picture.at(frame.x + x, frame.y + 800 + 2) == black) ticks.push_back(x);
        if (x % 100 == 10) expected.push_back(x);
    }
    EXPECT_EQ(ticks, expected);
    // Their labels are the next below, within a line's height.
    for (std::int64_t x = -30; x < 830; ++x) {
        bool inked = false;
        for (std::int64_t y = 8; y < 20; ++y)
            inked = inked || picture.at(frame.x + x, frame.y + 800 + y).red < 128;
        if (inked) ink.push_back(x);
    }
    const std::vector<double> labels = middles(ink, 20);
    ASSERT_EQ(labels.size(), expected.size());
    for (std::size_t i = 0; i < labels.size(); ++i)  // a glyph's ink is not in the middle of its advance
        EXPECT_NEAR(labels[i], static_cast<double>(expected[i]), 2);
}

// If there are few points, each has a tick, round or not.
TEST_F(Frame, LabelsEveryPointOfAShortAxis) {
    layout.axes = some_axes({7, 3});
    commit([](std::int64_t i) { return static_cast<double>(i); });
    const Picture picture = draw();
    const Box frame = find_frame(picture, 0, 7 * 115);
    std::vector<std::int64_t> ticks;
    for (std::int64_t x = 0; x < frame.width; ++x)
        if (picture.at(frame.x + x, frame.y + frame.height + 2) == black) ticks.push_back(x);
    EXPECT_EQ(ticks, (std::vector<std::int64_t>{57, 172, 287, 402, 517, 632, 747}));
}

// The second axis goes down: from -20 to 21 over 40 points with both ends.
TEST_F(Frame, RunsTicksOfTheSecondAxisDownwards) {
    commit([](std::int64_t i) { return static_cast<double>(i); });
    const Picture picture = draw();
    const Box frame = find_frame(picture, 0, 800);
    std::vector<std::int64_t> ticks, expected;
    for (std::int64_t y = 0; y < 800; ++y)
        if (picture.at(frame.x - 3, frame.y + y) == black) ticks.push_back(y);
    for (int value = -20; value <= 20; value += 5)
        expected.push_back(static_cast<std::int64_t>(((value + 20) / (41.0 / 39) + 0.5) * 20));
    EXPECT_EQ(ticks, expected);
}

TEST_F(Frame, RunsTheColorBarUpFromTheLeastValue) {
    layout.axes = some_axes({2, 2});
    commit([](std::int64_t i) { return i == 0 ? 0.0 : i == 1 ? 50.0 : 100.0; });
    const Picture picture = draw();
    const Box frame = find_frame(picture, 0, 800);
    Box bar = find_frame(picture, frame.x + 802, 5);
    EXPECT_EQ(bar.y, frame.y);
    EXPECT_EQ(bar.height, 800);
    EXPECT_EQ(picture.at(bar.x, bar.y), greatest);
    EXPECT_EQ(picture.at(bar.x, bar.y + 399), middle);
    EXPECT_EQ(picture.at(bar.x + bar.width - 1, bar.y + 799), least);
    std::vector<std::int64_t> ticks;
    for (std::int64_t y = 0; y < 800; ++y)
        if (picture.at(bar.x + bar.width + 2, bar.y + y) == black) ticks.push_back(y);
    EXPECT_EQ(ticks, (std::vector<std::int64_t>{0, 160, 320, 480, 640, 799}));  // 100, 80 ... 0
}

TEST_F(Frame, LabelsALogarithmicBarWithPowersOfTen) {
    layout.axes = some_axes({2, 2});
    commit([](std::int64_t i) { return std::pow(10.0, static_cast<double>(-2 * i)); });  // 1 ... 1e-6
    const Picture picture = draw();
    const Box frame = find_frame(picture, 0, 800), bar = find_frame(picture, frame.x + 802, 5);
    std::vector<std::int64_t> ticks;
    for (std::int64_t y = 0; y < 800; ++y)
        if (picture.at(bar.x + bar.width + 2, bar.y + y) == black) ticks.push_back(y);
    ASSERT_EQ(ticks.size(), 7u);
    for (std::size_t i = 0; i < 7; ++i)  // a pixel for rounding, and the last is inside
        EXPECT_NEAR(static_cast<double>(ticks[i]), static_cast<double>(i) * 800 / 6, 1.01);
}

TEST(BarTicks, UseTheWordsOfLabeledValues) {
    PlotLabels labels;
    labels.whole = true;
    labels.words = {"end", "length", "stop"};
    ColorScale scale;
    scale.include(0);
    scale.include(2);
    const std::vector<PlacedTick> ticks = bar_ticks(labels, scale, 200, 14);
    ASSERT_EQ(ticks.size(), 3u);
    const std::int64_t places[] = {199, 100, 0};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(ticks[i].at, places[i]);
        EXPECT_EQ(ticks[i].label.coverage, render_text(labels.words[i], 14).coverage);
    }
}

// The legend's gray square is there if and only if some point is gray.
TEST_F(Frame, ExplainsGrayOnlyIfSomePointIsGray) {
    for (const bool some : {false, true}) {
        const TemporaryFolder other;
        result = other.path() / "map.h5";
        layout.axes = some_axes({3, 3});
        commit([&](std::int64_t i) { return some && i == 4 ? NAN : static_cast<double>(i); });
        const Picture picture = draw();
        const Box frame = find_frame(picture, 0, 801);
        int gray_below = 0;
        for (std::int64_t y = frame.y + frame.height; y < picture.height; ++y)
            gray_below += picture.at(frame.x + 2, y) == gray;
        EXPECT_EQ(gray_below > 4, some);
        expect_white_edge(picture);
    }
}

TEST_F(Frame, OmitsTheBarWithoutValues) {
    commit([](std::int64_t) { return NAN; });
    const Picture picture = draw();
    const Box frame = find_frame(picture, 0, 800);
    EXPECT_THROW(find_frame(picture, frame.x + 802, 5), std::runtime_error);
    expect_white_edge(picture);
}

TEST(PlotLabels, NameFieldJobAxesAndPlace) {
    ResultLayout layout = layout_of(some_axes({3, 2, 2}), {field("state", FieldType::Int32)});
    layout.job_path = "jobs/moon.toml";
    layout.fields[0].unit = "km";
    layout.fields[0].plot_from = 9;
    layout.fields[0].dimensions = {{"body", {"sun", "moon"}}};
    const Slice slice = make_slice(layout, layout.fields[0], {"body=1", "z=1"});
    const PlotLabels labels = plot_labels(layout, layout.fields[0], slice);
    EXPECT_EQ(labels.title, "moon: 9 - state [km] at z = 1 m, body moon");  // from -20 to 22 over 2 points
    EXPECT_EQ(labels.subtitle, "the state of the pair");
    EXPECT_EQ(labels.x.name, "x = system.position[0].x [m]");
    ASSERT_TRUE(labels.y);
    EXPECT_EQ(labels.y->first, -20);
    EXPECT_EQ(labels.y->last, 21);
    EXPECT_TRUE(labels.whole);

    layout.fields[0].long_name = std::string(99, 'a') + "\u00e9" + std::string(50, 'b');
    EXPECT_EQ(plot_labels(layout, layout.fields[0], {}).subtitle, std::string(99, 'a') + " ...");
}

}  // namespace
}  // namespace voltpile
