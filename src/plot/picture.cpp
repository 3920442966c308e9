#include "plot/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/build_info.h"
#include "base/error.h"
#include "plot/frame.h"
#include "results/output_file.h"

namespace voltpile {
namespace {

constexpr std::int64_t least_long_side = 800;  // pixels
constexpr std::int64_t strip_height = 80;      // in pixels, of a picture with only one axis
constexpr std::int64_t most_around = 20'000;   // pixels of titles, axes and bar, along a side

constexpr const char* software_keyword = "Software";
constexpr const char* software_text = "voltpile ";  // the version follows

// Pixels per point.
struct Enlargement {
    std::int64_t x = 1;
    std::int64_t y = 1;
};

Enlargement enlargement(const Slice& slice, bool is_strip, int wanted) {
    if (wanted < 0) throw JobError("the scale of a picture is a number of pixels per point: 1 or more");
    const std::int64_t longer = std::max(slice.width, slice.height);
    const std::int64_t scale =
        wanted > 0 ? wanted : std::max<std::int64_t>(1, (least_long_side + longer - 1) / longer);
    // Leaves room for the frame.
    if (longer > (PngFile::max_side - most_around) / scale) {
        throw JobError(
            fmt::format("a picture of {} x {} points, {} pixels each, is too large: at most {} pixels a side",
                        slice.width, slice.height, scale, PngFile::max_side - most_around));
    }
    return {scale, is_strip ? std::max(scale, strip_height) : scale};
}

// Repeats each color for `pixels` pixels.
void write_points(const std::vector<Rgb>& colors, std::int64_t pixels, std::span<std::uint8_t> rgb) {
    std::size_t at = 0;
    for (const Rgb color : colors) {
        for (std::int64_t k = 0; k < pixels; ++k) {
            rgb[at++] = color.red;
            rgb[at++] = color.green;
            rgb[at++] = color.blue;
        }
    }
}

}  // namespace

ColorScale color_scale(const Picture& picture) {
    ColorScale scale;
    for (std::int64_t y = 0; y < picture.slice.height; ++y)
        for (const double value : picture.row(y)) scale.include(value);
    return scale;
}

std::string colors_text(const ColorScale& scale) {
    if (!(scale.max >= scale.min)) return "";
    return fmt::format(", from {:g} (black) to {:g} (yellow), {}", scale.min, scale.max,
                       scale.logarithmic ? "logarithmic" : "linear");
}

void check_picture_place(const std::filesystem::path& path, std::string_view option,
                         const std::vector<std::filesystem::path>& kept) {
    if (path.extension() != ".png") throw JobError(path.string() + ": a picture's name ends in .png");
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return;
    const auto is_own = [](const std::filesystem::path& file) {
        return has_png_text(file, software_keyword, software_text);
    };
    check_output_file(path, option, {"voltpile plot", is_own}, kept);
}

PngTexts picture_texts(const std::string& title, const std::string& description) {
    return {{"Title", title},
            {software_keyword, software_text + build_info().version},
            {"Description", description}};
}

void draw_picture(const std::filesystem::path& path, const Picture& picture, const PictureLook& look) {
    const Enlargement pixels = enlargement(picture.slice, !picture.labels.y, look.scale);
    const ColorScale& scale = picture.colors;
    Box inside{0, 0, picture.slice.width * pixels.x, picture.slice.height * pixels.y};
    Box whole = inside;
    std::optional<PlotFrame> frame;
    if (!look.bare) {
        frame.emplace(picture.labels, scale, inside.width, inside.height);
        inside = frame->field();
        whole = {0, 0, frame->width(), frame->height()};
    }
    PngFile png(path, whole.width, whole.height, picture_texts(picture.title, picture.description));
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(3 * whole.width));
    std::vector<Rgb> colors;  // of a row of points
    for (std::int64_t y = 0; y < whole.height; ++y) {
        if (frame) frame->paint(y, rgb);
        if (y >= inside.y && y < inside.y + inside.height) {
            const std::int64_t row = y - inside.y;
            if (row % pixels.y == 0) {
                colors.clear();
                for (const double value : picture.row(row / pixels.y)) colors.push_back(scale.color(value));
            }
            write_points(colors, pixels.x, std::span(rgb).subspan(static_cast<std::size_t>(3 * inside.x)));
        }
        png.write_row(rgb);
    }
    png.finish();
}

}  // namespace voltpile
