#include "plot/field_painter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace voltpile {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double full = 65535;

// light: as from FieldPainter::light_on. Below 1 darkens, above 1 mixes with white.
DeepColor lit(DeepColor color, double light) {
    for (std::uint16_t& part : color) {
        const double value = part;
        const double out = light <= 1 ? value * light : value + (full - value) * std::min(1.0, light - 1);
        part = static_cast<std::uint16_t>(std::lround(std::clamp(out, 0.0, full)));
    }
    return color;
}

// Rec. 709 luma.
bool is_bright(const DeepColor& color) {
    return 0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2] > full / 2;
}

// Returns the value at a place between the points of a row, that of the nearest end beyond them.
double between(const std::vector<double>& row, double x) {
    const double at = std::clamp(x, 0.0, static_cast<double>(row.size() - 1));
    const auto before = static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(before);
    return part == 0 ? row[before] : row[before] + part * (row[before + 1] - row[before]);
}

}  // namespace

FieldPainter::FieldPainter(const RowSource& source, std::int64_t width, std::int64_t height,
                           const ColorScale& scale, FieldLook look)
    : source_(source), width_(width), height_(height), scale_(scale), look_(std::move(look)) {}

const std::vector<double>& FieldPainter::row(std::int64_t y) {
    constexpr std::size_t most_rows = 5;
    const auto found = rows_.find(y);
    if (found != rows_.end()) return found->second;
    if (rows_.size() >= most_rows) rows_.erase(rows_.begin());
    return rows_.emplace(y, source_(y)).first->second;
}

// Returns the light on the relief at a point, 1 where it is level: Lambert's law, with the light from the
// upper left and 45 degrees high. The whole range of colors is a tenth of the picture high.
double FieldPainter::light_on(std::int64_t x, std::int64_t y) {
    const double value = row(y)[static_cast<std::size_t>(x)];
    const double here = scale_.position(value);
    const auto height_at = [&](std::int64_t at_x, std::int64_t at_y) {
        const std::int64_t in_x = std::clamp<std::int64_t>(at_x, 0, width_ - 1);
        const std::int64_t in_y = std::clamp<std::int64_t>(at_y, 0, height_ - 1);
        const double beside = row(in_y)[static_cast<std::size_t>(in_x)];
        return scale_.shows(beside) ? scale_.position(beside) : here;
    };
    const auto slope = [&](double after, double before) {
        double rise = after - before;
        if (scale_.period > 0) rise -= std::round(rise);  // the shorter way around
        return rise / 2 * 0.1 * static_cast<double>(std::max(width_, height_));
    };
    const double dx = slope(height_at(x + 1, y), height_at(x - 1, y));
    const double dy = slope(height_at(x, y + 1), height_at(x, y - 1));
    // The normal (-dx, -dy, 1) times the light's direction (-1/2, -1/2, 1/sqrt 2), over that of a level.
    const double lambert = (dx + dy) / std::numbers::sqrt2 + 1;
    constexpr double ambient = 0.35;
    return ambient + (1 - ambient) * std::max(0.0, lambert / std::sqrt(dx * dx + dy * dy + 1));
}

void FieldPainter::color_points(std::int64_t y) {
    if (colored_ == y) return;
    colored_ = y;
    colors_.resize(static_cast<std::size_t>(width_));
    if (look_.shade)  // in rising order
        for (std::int64_t k = std::max<std::int64_t>(0, y - 1); k <= std::min(height_ - 1, y + 1); ++k)
            row(k);
    const std::vector<double>& values = row(y);
    for (std::size_t x = 0; x < values.size(); ++x) {
        const Rgb color = look_.deep ? Rgb{} : scale_.color(values[x]);
        const auto wide = [](std::uint8_t byte) { return static_cast<std::uint16_t>(257 * byte); };
        colors_[x] = look_.deep ? scale_.deep_color(values[x])
                                : DeepColor{wide(color.red), wide(color.green), wide(color.blue)};
        if (look_.shade && scale_.shows(values[x]))
            colors_[x] = lit(colors_[x], light_on(static_cast<std::int64_t>(x), y));
    }
}

// Returns the values at the left and right ends of a pen around each pixel, at a height between rows.
std::vector<double> FieldPainter::line_at(double y) {
    const double at = std::clamp(y, 0.0, static_cast<double>(height_ - 1));
    const auto above = static_cast<std::int64_t>(at);
    const double part = at - static_cast<double>(above);
    std::vector<double> line = row(above);
    if (part > 0) {
        const std::vector<double>& below = row(above + 1);
        for (std::size_t x = 0; x < line.size(); ++x) line[x] += part * (below[x] - line[x]);
    }
    for (double& value : line)
        if (!scale_.shows(value)) value = no_number;
    return line;
}

void FieldPainter::draw_contours(std::int64_t y, std::span<DeepColor> colors) {
    const double pen = std::max(0.75, static_cast<double>(std::max(width(), height())) / 1800);
    const auto to_points = [](double pixel, std::int64_t pixels) {
        return (pixel + 0.5) / static_cast<double>(pixels) - 0.5;
    };
    const auto middle = static_cast<double>(y);
    const std::vector<double> upper = line_at(to_points(middle - pen, look_.pixels_y));
    const std::vector<double> lower = line_at(to_points(middle + pen, look_.pixels_y));
    for (std::size_t x = 0; x < colors.size(); ++x) {
        const double left = to_points(static_cast<double>(x) - pen, look_.pixels_x);
        const double right = to_points(static_cast<double>(x) + pen, look_.pixels_x);
        const double corners[] = {between(upper, left), between(upper, right), between(lower, left),
                                  between(lower, right)};
        const auto [low, high] = std::ranges::minmax(corners);
        if (std::ranges::any_of(corners, [](double value) { return std::isnan(value); })) continue;
        const bool crossed =
            std::ranges::any_of(look_.contours, [&](double level) { return low < level && level <= high; });
        if (!crossed) continue;
        colors[x] = is_bright(colors[x]) ? DeepColor{0, 0, 0} : DeepColor{65535, 65535, 65535};
    }
}

void FieldPainter::paint(std::int64_t y, std::span<DeepColor> colors) {
    color_points(y / look_.pixels_y);
    for (std::size_t x = 0; x < colors.size(); ++x)
        colors[x] = colors_[x / static_cast<std::size_t>(look_.pixels_x)];
    if (!look_.contours.empty()) draw_contours(y, colors);
}

}  // namespace voltpile
