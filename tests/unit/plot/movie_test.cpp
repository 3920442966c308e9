// Tests the pictures of a movie: their colors, and which are drawn again.
#include <fmt/format.h>

#include "plot/movie.h"
#include "unit/plot/png_fixtures.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

class MovieOfThreeAxes : public testing::Test {
  protected:
    // Point i of 4 x 3 x 5 has the value i.
    void commit(WorkRange range) {
        std::vector<double> values;
        for (std::int64_t i = range.begin; i < range.end; ++i) values.push_back(static_cast<double>(i));
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        commit_part(parts.path(), layout, range, {buffer(values)});
    }
    MovieReport draw(MovieOptions options = {}) {
        options.output = folder.path() / "frames";
        return draw_movie(ResultReader(result), {.size = 4, .bare = true}, options);
    }
    std::filesystem::path frame(int k) const {
        return folder.path() / "frames" / fmt::format("frame_{:06}.png", k);
    }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({4, 3, 5}), {field("energy", FieldType::Float64)});
};

TEST_F(MovieOfThreeAxes, SharesTheColorsOfAllFrames) {
    commit(layout.whole());
    const MovieReport report = draw();
    EXPECT_EQ(report.frames, 5);
    EXPECT_EQ(report.drawn, 5);
    EXPECT_EQ(report.missing, 0);
    for (int k = 0; k < 5; ++k) {
        const Picture picture = read_png(frame(k));
        ASSERT_EQ(picture.width, 4);
        for (int i = 0; i < 12; ++i)
            EXPECT_EQ(picture.at(i % 4, i / 4), map_color(ColorMap::Inferno, (12 * k + i) / 59.0)) << k;
    }
}

TEST_F(MovieOfThreeAxes, GivesFramesTheirOwnColorsIfTold) {
    commit(layout.whole());
    draw({.own_scales = true});
    for (int k = 0; k < 5; ++k)
        for (int i = 0; i < 12; ++i)
            EXPECT_EQ(read_png(frame(k)).at(i % 4, i / 4), map_color(ColorMap::Inferno, i / 11.0)) << k;
}

TEST_F(MovieOfThreeAxes, DrawsOnlyWhatIsMissing) {
    commit(layout.whole());
    draw({.threads = 3});
    EXPECT_EQ(draw().drawn, 0);
    std::filesystem::remove(frame(2));
    EXPECT_EQ(draw().drawn, 1);
    EXPECT_EQ(draw({.own_scales = true}).drawn, 5);
}

TEST_F(MovieOfThreeAxes, DrawsWholeFramesOfAnUnfinishedResult) {
    commit({0, 30});  // two frames and a half
    const MovieReport report = draw();
    EXPECT_EQ(report.drawn, 2);
    EXPECT_EQ(report.missing, 3);
    EXPECT_TRUE(std::filesystem::exists(frame(1)));
    EXPECT_FALSE(std::filesystem::exists(frame(2)));
}

TEST_F(MovieOfThreeAxes, RefusesTwoAxes) {
    layout = layout_of(some_axes({4, 3}), {field("energy", FieldType::Float64)});
    commit(layout.whole());
    const auto [message, code] = error_of([&] { draw(); });
    EXPECT_EQ(code, ExitCode::BadInput);
    EXPECT_NE(message.find("2 of the three axes"), std::string::npos) << message;
}

}  // namespace
}  // namespace voltpile
