#include "plot/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/build_info.h"
#include "base/error.h"
#include "base/format.h"
#include "plot/frame.h"
#include "plot/rank_sample.h"
#include "results/output_file.h"

namespace voltpile {
namespace {

constexpr std::int64_t least_long_side = 800;  // pixels
constexpr std::int64_t strip_height = 80;      // in pixels, of a picture with only one axis
constexpr std::int64_t most_around = 20'000;   // pixels of titles, axes and bar, along a side

constexpr const char* software_keyword = "Software";
constexpr const char* signature_keyword = "Signature";
constexpr const char* software_text = "voltpile ";  // the version follows

// Returns how many pixels wide and high a number is.
FieldLook field_look(const Picture& picture, const PictureLook& look) {
    const std::int64_t longer = std::max(picture.width, picture.height);
    const std::int64_t scale =
        look.pixels > 0 ? look.pixels / longer : (least_long_side + longer - 1) / longer;
    FieldLook field;
    field.pixels_x = std::max<std::int64_t>(1, scale);
    field.pixels_y = picture.labels.y ? field.pixels_x : std::max(field.pixels_x, strip_height);
    field.deep = look.deep;
    field.shade = look.shade;
    return field;
}

// A picture and its place beside others.
struct Panel {
    const Picture& picture;
    std::optional<PlotFrame> frame;
    std::unique_ptr<FieldPainter> painter;
    Box field;           // inside the panel
    std::int64_t x = 0;  // of the panel
    std::int64_t width = 0, height = 0;
};

Panel make_panel(const Picture& picture, const PictureLook& look, FieldLook field, std::int64_t x) {
    Panel panel{picture, {}, nullptr, {}, x};
    const std::int64_t width = picture.width * field.pixels_x, height = picture.height * field.pixels_y;
    panel.field = {0, 0, width, height};
    panel.width = width, panel.height = height;
    if (!look.bare) {
        panel.frame.emplace(picture.labels, picture.colors, width, height, field.contours);
        panel.field = panel.frame->field();
        panel.width = panel.frame->width(), panel.height = panel.frame->height();
    }
    panel.painter = std::make_unique<FieldPainter>(picture.row, picture.width, picture.height, picture.colors,
                                                   std::move(field));
    return panel;
}

// Paints row y of a panel into rows of the whole picture.
void paint(Panel& panel, std::int64_t y, std::span<std::uint8_t> rgb, std::span<std::uint16_t> deep) {
    const auto at = [](std::int64_t x) { return static_cast<std::size_t>(3 * x); };
    if (panel.frame && y < panel.height) panel.frame->paint(y, rgb.subspan(at(panel.x), at(panel.width)));
    for (std::size_t i = at(panel.x); i < at(panel.x + panel.width) && !deep.empty(); ++i)
        deep[i] = static_cast<std::uint16_t>(257 * rgb[i]);
    const Box& field = panel.field;
    if (y < field.y || y >= field.y + field.height) return;
    std::vector<DeepColor> colors(static_cast<std::size_t>(field.width));
    panel.painter->paint(y - field.y, colors);
    std::size_t to = at(panel.x + field.x);
    for (const DeepColor& color : colors) {
        for (const std::uint16_t part : color) {
            if (deep.empty()) {
                rgb[to++] = static_cast<std::uint8_t>(part >> 8);
            } else {
                deep[to++] = part;
            }
        }
    }
}

void check_scale(const Picture& picture, const ColorScale& scale) {
    if (scale.scaling == Scaling::Logarithmic && !scale.any_value() && scale.unshowable > 0)
        throw JobError(
            fmt::format("{}: none of its {} values is positive, so they have no logarithms; "
                        "take linear or equalized scaling",
                        picture.labels.shown, count_text(scale.unshowable)));
}

}  // namespace

ColorScale color_scale(const Picture& picture, ColorScale wanted, bool customary) {
    ColorScale scale = std::move(wanted);
    const bool automatic = scale.scaling == Scaling::Automatic;
    if (automatic) scale.scaling = Scaling::Linear;
    RankSample sample;
    for (std::int64_t y = 0; y < picture.height; ++y) {
        for (const double value : picture.row(y)) {
            scale.include(value);
            if (scale.scaling == Scaling::Equalized && scale.shows(value)) sample.add(value);
        }
    }
    check_scale(picture, scale);
    if (automatic && !customary && scale.min > 0 && scale.max / scale.min > 1e3)
        scale.scaling = Scaling::Logarithmic;
    scale.ranked = sample.sorted();
    return scale;
}

std::string colors_text(const ColorScale& scale) {
    if (!scale.any_value()) return "";
    if (scale.period > 0)
        return fmt::format(", from 0 to {:g} around the map {}", scale.period, name_of(scale.map));
    if (scale.map == ColorMap::Classes)
        return fmt::format(", a color for each of {:g} to {:g}", scale.min, scale.max);
    constexpr const char* ends[][2] = {
        {"black", "yellow"}, {"violet", "yellow"}, {"dark blue", "yellow"}, {"white", "white"}};
    const auto& [least, greatest] = ends[static_cast<std::size_t>(scale.map)];
    return fmt::format(", from {:g} ({}) to {:g} ({}), {}", scale.min, least, scale.max, greatest,
                       scale.scaling == Scaling::Logarithmic ? "logarithmic"
                       : scale.scaling == Scaling::Equalized ? "equalized"
                                                             : "linear");
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

bool is_signed(const std::filesystem::path& path, const std::string& signature) {
    return has_png_text(path, signature_keyword, signature);
}

void draw_pictures(const std::filesystem::path& path, const std::vector<Picture>& pictures,
                   const PictureLook& look) {
    if (look.pixels < 0) throw JobError("the size of a picture is a number of pixels: 1 or more");
    std::vector<Panel> panels;
    std::int64_t width = 0, height = 0;
    for (const Picture& picture : pictures) {
        FieldLook field = field_look(picture, look);
        const std::int64_t longer = std::max(picture.width * field.pixels_x, picture.height * field.pixels_y);
        if (longer > PngFile::max_side - most_around) {  // leaves room for the frame
            throw JobError(fmt::format(
                "a picture of {} x {} points, {} pixels each, is too large: at most {} pixels a side; "
                "--size 4000 averages points",
                picture.width, picture.height, field.pixels_x, PngFile::max_side - most_around));
        }
        if (&picture == &pictures.front()) field.contours = look.contours;
        panels.push_back(make_panel(picture, look, std::move(field), width));
        width += panels.back().width;
        height = std::max(height, panels.back().height);
    }
    if (width > PngFile::max_side)
        throw JobError(fmt::format("pictures side by side are {} pixels wide, too many: at most {}", width,
                                   PngFile::max_side));
    PngTexts texts = picture_texts(pictures.front().title, pictures.front().description);
    if (!pictures.front().signature.empty())
        texts.emplace_back(signature_keyword, pictures.front().signature);
    PngFile png(path, width, height, texts, look.deep ? 16 : 8);
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(3 * width));
    std::vector<std::uint16_t> deep(look.deep ? rgb.size() : 0, 0xffff);
    for (std::int64_t y = 0; y < height; ++y) {
        std::ranges::fill(rgb, std::uint8_t{255});
        for (Panel& panel : panels) paint(panel, y, rgb, deep);
        if (look.deep) {
            png.write_row(std::span<const std::uint16_t>(deep));
        } else {
            png.write_row(rgb);
        }
    }
    png.finish();
}

}  // namespace voltpile
