#include "plot/plot.h"

#include <signal.h>
#include <sys/resource.h>

#include <cmath>

#include "plot/colormap.h"
#include "unit/plot/png_fixtures.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

// Published values of matplotlib's "inferno": its ends and its middle.
constexpr Rgb kFirst{0, 0, 3}, kMiddle{187, 55, 84}, kLast{252, 254, 164};
constexpr Rgb kUncomputed{128, 128, 128};

class Plot : public testing::Test {
  protected:
    template <class T>
    void commit(WorkRange range, const std::vector<T>& values) {
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        commit_part(parts.path(), layout, range, {buffer(values)});
    }
    Picture draw(PlotOptions options = {}) {
        options.bare = true;
        return read_png(plot(ResultReader(result), options));
    }
    std::string refusal(const PlotOptions& options) {
        const auto [message, code] = error_of([&] { plot(ResultReader(result), options); });
        EXPECT_EQ(code, ExitCode::BadInput);
        return message;
    }
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    std::filesystem::path png = folder.path() / "map.png";
    ResultLayout layout = layout_of(some_axes({3, 2}), {field("steps", FieldType::Int32)});
};

TEST(Colormap, MatchesMatplotlibsInferno) {
    EXPECT_EQ(map_color(ColorMap::Inferno, 0), kFirst);
    EXPECT_EQ(map_color(ColorMap::Inferno, 0.5), kMiddle);  // matplotlib takes entry int(256 * 0.5)
    EXPECT_EQ(map_color(ColorMap::Inferno, 1), kLast);
    EXPECT_EQ(map_color(ColorMap::Inferno, -1), kFirst);
    EXPECT_EQ(map_color(ColorMap::Inferno, 2), kLast);
    EXPECT_EQ(map_color(ColorMap::Inferno, 0.4999), (Rgb{186, 54, 85}));  // entry 127
}

// The first axis runs to the right, the second downwards, and each point is an upright square of pixels.
TEST_F(Plot, DrawsTheFirstAxisRightAndTheSecondDown) {
    commit<std::int32_t>({0, 6}, {0, 50, 100, 100, 0, 0});
    const Picture picture = draw({.size = 30});
    ASSERT_EQ(picture.width, 30);
    ASSERT_EQ(picture.height, 20);
    const Rgb expected[2][3] = {{kFirst, kMiddle, kLast}, {kLast, kFirst, kFirst}};
    for (std::int64_t y = 0; y < 20; ++y) {
        for (std::int64_t x = 0; x < 30; ++x)
            EXPECT_EQ(picture.at(x, y), expected[y / 10][x / 10]) << x << " " << y;
    }
}

TEST_F(Plot, SubtractsFromPlotFrom) {
    layout.fields[0].plot_from = 100;
    commit<std::int32_t>({0, 6}, {0, 50, 100, 100, 0, 0});
    const Picture picture = draw({.size = 3});
    EXPECT_EQ(picture.at(0, 0), kLast);
    EXPECT_EQ(picture.at(2, 0), kFirst);
    EXPECT_TRUE(has(file_text(png), "Shown: 100 - steps [1], from 0 (black) to 100 (yellow), linear"));
}

TEST_F(Plot, DrawsMissingPointsGray) {
    commit<std::int32_t>({1, 4}, {0, 100, 0});
    const Picture picture = draw({.size = 3});
    EXPECT_EQ(picture.at(0, 0), kUncomputed);
    EXPECT_EQ(picture.at(1, 0), kFirst);
    EXPECT_EQ(picture.at(2, 0), kLast);
    EXPECT_EQ(picture.at(0, 1), kFirst);
    EXPECT_EQ(picture.at(1, 1), kUncomputed);
}

TEST_F(Plot, DrawsNanAndInfinityGrayAndIgnoresThemInTheScale) {
    layout.fields[0].type = FieldType::Float64;
    commit<double>({0, 6}, {0, NAN, 100, INFINITY, 50, -INFINITY});
    const Picture picture = draw({.size = 3});
    EXPECT_EQ(picture.at(0, 0), kFirst);
    EXPECT_EQ(picture.at(1, 0), kUncomputed);
    EXPECT_EQ(picture.at(2, 0), kLast);
    EXPECT_EQ(picture.at(0, 1), kUncomputed);
    EXPECT_EQ(picture.at(1, 1), kMiddle);
    EXPECT_EQ(picture.at(2, 1), kUncomputed);
}

// 1e-8, 1e-4, 1: evenly spaced in the logarithm.
TEST_F(Plot, UsesALogarithmicScaleForDecades) {
    layout.fields[0].type = FieldType::Float64;
    commit<double>({0, 6}, {1e-8, 1.001e-4, 1, 1, 1, 1});
    const Picture picture = draw({.size = 3});
    EXPECT_EQ(picture.at(0, 0), kFirst);
    EXPECT_EQ(picture.at(1, 0), kMiddle);
    EXPECT_EQ(picture.at(2, 0), kLast);
    EXPECT_TRUE(has(file_text(png), "from 1e-08 (black) to 1 (yellow), logarithmic"));
}

TEST_F(Plot, DrawsAConstantField) {
    commit<std::int32_t>({0, 6}, {7, 7, 7, 7, 7, 7});
    EXPECT_EQ(draw({.size = 3}).at(1, 1), kFirst);
}

TEST_F(Plot, EnlargesSmallMaps) {
    commit<std::int32_t>({0, 6}, {0, 50, 100, 100, 0, 0});
    const Picture picture = draw();
    EXPECT_EQ(picture.width, 801);  // 3 * 267
    EXPECT_EQ(picture.height, 534);
}

TEST_F(Plot, DrawsOneAxisAsAStrip) {
    layout.axes.resize(1);
    commit<std::int32_t>({0, 3}, {0, 50, 100});
    const Picture picture = draw();
    EXPECT_EQ(picture.width, 801);
    EXPECT_GE(picture.height, 80);
    EXPECT_EQ(picture.at(400, picture.height - 1), kMiddle);
}

TEST_F(Plot, DrawsTheChosenIndexOfOtherDimensions) {
    layout = layout_of(some_axes({3, 2, 2}), {field("state", FieldType::Int32, {{"body", {"sun", "moon"}}})});
    std::vector<std::int32_t> values(24, 0);
    values[2 * 6 + 1] = 100;  // z = 1 begins at point 6; body 1 of its first point
    values[2 * 11 + 1] = 50;  // and of its last
    commit<std::int32_t>({0, 12}, values);
    const Picture picture = draw({.at = {"body=1", "z=1"}, .size = 3});
    EXPECT_EQ(picture.at(0, 0), kLast);
    EXPECT_EQ(picture.at(1, 0), kFirst);
    EXPECT_EQ(picture.at(2, 1), kMiddle);
    EXPECT_TRUE(has(file_text(png), "at body=1, z=1"));

    const std::string all = refusal({});
    EXPECT_TRUE(has(all, "--at z=0 ... z=1   (system.position[0].z = -20 to ")) << all;
    EXPECT_TRUE(has(all, "--at body=0 ... body=1   (sun, moon)")) << all;
    for (const std::vector<std::string>& at : {std::vector<std::string>{"z=1"},
                                               {"z=1", "body=2"},
                                               {"z=1", "body=-1"},
                                               {"z=1", "body=sun"},
                                               {"z=1", "body"},
                                               {"z=1", "z=1", "body=1"},
                                               {"z=1", "body=1", "x=1"}}) {
        EXPECT_TRUE(has(refusal({.at = at}), "--at body=0 ... body=1")) << at.back();
    }
}

TEST_F(Plot, WritesTextChunks) {
    commit<std::int32_t>({0, 6}, {0, 50, 100, 100, 0, 0});
    plot(ResultReader(result), {});
    const std::string bytes = file_text(png);
    const std::string zero(1, '\0');
    EXPECT_TRUE(has(bytes, "tEXtTitle" + zero + "steps of map.h5"));
    EXPECT_TRUE(has(bytes, "tEXtSoftware" + zero + "voltpile "));
    EXPECT_TRUE(
        has(bytes, "tEXtDescription" + zero + "steps (the steps of the pair). Shown: steps [1], from 0"));
}

TEST_F(Plot, NamesThePictureAfterTheResult) {
    layout.fields.push_back(field("energy", FieldType::Float64));
    {
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        commit_all(parts.path(), layout, {0, 6});
    }
    EXPECT_EQ(plot(ResultReader(result), {}), png);
    EXPECT_EQ(plot(ResultReader(result), {.field = "energy"}), folder.path() / "map_energy.png");
    EXPECT_EQ(plot(ResultReader(result), {.output = folder.path() / "a.png"}), folder.path() / "a.png");
    EXPECT_EQ(names_in(folder.path()),
              (std::vector<std::string>{"a.png", "map.h5.parts", "map.png", "map_energy.png"}));
    EXPECT_TRUE(has(refusal({.field = "enrgy"}), "there is no field enrgy; there is steps, energy"));
    EXPECT_TRUE(has(refusal({.output = result}), "ends in .png"));
    EXPECT_TRUE(has(refusal({.output = folder.path() / "no" / "a.png"}), "No such file or directory"));
}

// The PNG specification lets chunks of any type stand between IHDR and IDAT.
TEST_F(Plot, ReplacesOnlyItsOwnPictures) {
    commit<std::int32_t>({0, 6}, {0, 50, 100, 100, 0, 0});
    plot(ResultReader(result), {});
    const std::string own = file_text(png);
    const auto mark = own.find("tEXtSoftware");
    std::string foreign = own;
    foreign.replace(mark + 13, 8, "GIMP 2.1");
    std::string other_chunk = own;  // the same bytes, not in a text chunk
    other_chunk.replace(mark, 4, "tIME");
    for (const std::string& content :
         {foreign, other_chunk, own.substr(0, mark), std::string("a photo"), std::string()}) {
        write_text_file(png, content);
        const std::string message = refusal({});
        EXPECT_TRUE(has(message, "--output: ") &&
                    has(message, "map.png exists and was not written by voltpile plot"))
            << message;
        EXPECT_EQ(file_text(png), content);
    }
    write_text_file(png, own);
    EXPECT_EQ(plot(ResultReader(result), {.bare = true}), png);
    EXPECT_NE(file_text(png), own);
}

TEST_F(Plot, RejectsASinglePoint) {
    layout.axes.clear();
    commit<std::int32_t>({0, 1}, {7});
    EXPECT_TRUE(has(refusal({}), "nothing to draw"));
}

TEST_F(Plot, KeepsTheOldPictureOnAFullDisk) {
    commit<std::int32_t>({0, 6}, {0, 50, 100, 100, 0, 0});
    plot(ResultReader(result), {});
    const std::string old = file_text(png);
    const int code = run_in_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{50, 50};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const auto [message, exit_code] = error_of([&] { plot(ResultReader(result), {}); });
        return has(message, "map.png: File too large") && exit_code == ExitCode::Failed ? 0 : 1;
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(file_text(png), old);
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"map.h5.parts", "map.png"}));
}

}  // namespace
}  // namespace voltpile
