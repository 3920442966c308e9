#include "plot/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "plot/axis_ticks.h"

namespace voltpile {
namespace {

constexpr Rgb black{0, 0, 0}, dark{80, 80, 80};

// The text size follows the longer side, so that it is legible when the whole picture fits a screen, but
// stays small beside the shorter side.
int em_pixels(std::int64_t width, std::int64_t height) {
    const std::int64_t by_longer = std::max(width, height) / 60, by_shorter = std::min(width, height) / 20;
    return static_cast<int>(std::clamp<std::int64_t>(std::min(by_longer, by_shorter), 14, 96));
}

int widest(const std::vector<PlacedTick>& ticks) {
    int width = 0;
    for (const PlacedTick& tick : ticks) width = std::max(width, tick.label.width);
    return width;
}

// Draws ticks on the left (towards = -1) or right (+1) of x, with their labels beyond them.
void draw_ticks_aside(Overlay& overlay, std::vector<PlacedTick>& ticks, std::int64_t x, std::int64_t y,
                      int length, int towards) {
    for (PlacedTick& tick : ticks) {
        const std::int64_t at = y + tick.at, label_y = at - tick.label.height / 2;
        overlay.fill({towards > 0 ? x : x - length + 1, at, length, 1}, black);
        const std::int64_t label_x =
            towards > 0 ? x + length + length / 2 : x - length - length / 2 - tick.label.width;
        overlay.ink(label_x, label_y, std::move(tick.label), black);
    }
}

// "12 of 1,600 points: not computed, or not a finite number"
std::string legend_text(const PlotLabels& labels, const ColorScale& scale) {
    std::string text =
        fmt::format("{} of {} {}: ", count_text(scale.without + scale.unshowable), count_text(scale.points),
                    labels.block > 1 ? fmt::format("blocks of {0} x {0} points", labels.block) : "points");
    if (scale.without > 0) text += "not computed, or not a finite number";
    if (scale.unshowable > 0)
        text += fmt::format("{}{} not positive", scale.without > 0 ? "; " : "", count_text(scale.unshowable));
    return text;
}

}  // namespace

PlotFrame::PlotFrame(const PlotLabels& labels, const ColorScale& scale, std::int64_t field_width,
                     std::int64_t field_height, const std::vector<double>& contours)
    : scale_(scale) {
    const int em = em_pixels(field_width, field_height);
    const int gap = em / 2, tick_length = em / 3, aside = tick_length + tick_length / 2;
    const auto text = [&](const std::string& words) { return render_text(words, em); };
    TextImage title = render_text(labels.title, em * 5 / 4), subtitle = text(labels.subtitle);
    TextImage x_name = text(labels.x.name), legend = text(legend_text(labels, scale));
    TextImage y_name = labels.y ? turned(text(labels.y->name)) : TextImage{};
    TextImage bar_name = turned(text(labels.shown));
    const int line = subtitle.height;

    // From the left: name and labels of the second axis, field, bar with its labels and name. The first axis'
    // labels may extend beyond the field by half.
    std::vector<PlacedTick> x_ticks = axis_ticks(labels.x, Direction::Right, field_width, em), y_ticks;
    if (labels.y) y_ticks = axis_ticks(*labels.y, Direction::Down, field_height, em);
    const int half_label = widest(x_ticks) / 2;
    const int left_of_field =
        std::max(labels.y ? widest(y_ticks) + aside + gap : 0, half_label + (labels.y ? gap : 0));
    field_ = {gap + y_name.width + left_of_field + 1, gap + title.height + line + gap + 1, field_width,
              field_height};
    const std::int64_t content_width = std::max<std::int64_t>(field_width, x_name.width);
    // A bar shorter than this, or than the text along it, would be hard to read.
    const std::int64_t content_height =
        std::max<std::int64_t>({field_height, 8 * em, y_name.height, bar_name.height});
    const bool any_value = scale.any_value();
    if (any_value)
        bar_ = {field_.x + content_width + 1 + std::max(half_label + gap, em), field_.y, em, content_height};
    std::vector<PlacedTick> ticks = bar_ticks(labels, scale, bar_.height, em);
    const std::int64_t bar_name_x = bar_.x + em + 1 + aside + widest(ticks) + gap;
    const std::int64_t right_end =
        any_value ? bar_name_x + bar_name.width : field_.x + content_width + std::max(half_label, 1);
    width_ = gap + std::max<std::int64_t>({right_end, field_.x + title.width, field_.x + subtitle.width,
                                           field_.x + (scale.any_missing() ? line + legend.width : 0)});

    // From the top: title, field, labels and name of the first axis, legend.
    const std::int64_t under_field = field_.y + field_height + 1, x_name_y = under_field + aside + line;
    const std::int64_t legend_y =
        std::max(x_name_y + line, field_.y + content_height + 1 + line / 2) + gap / 2;
    height_ = legend_y + (scale.any_missing() ? line : 0) + gap;

    overlay_.ink(field_.x, gap, std::move(title), black);
    overlay_.ink(field_.x, field_.y - 1 - gap - line, std::move(subtitle), dark);
    overlay_.outline(field_, black);
    for (PlacedTick& tick : x_ticks) {
        const std::int64_t at = field_.x + tick.at;
        overlay_.fill({at, under_field, 1, tick_length}, black);
        overlay_.ink(at - tick.label.width / 2, under_field + aside, std::move(tick.label), black);
    }
    overlay_.ink(field_.x + (content_width - x_name.width) / 2, x_name_y, std::move(x_name), black);
    draw_ticks_aside(overlay_, y_ticks, field_.x - 2, field_.y, tick_length, -1);
    const std::int64_t along = std::max<std::int64_t>(field_height, y_name.height);
    overlay_.ink(gap, field_.y + (along - y_name.height) / 2, std::move(y_name), black);
    if (any_value) {
        for (const double level : contours) {
            const double above = 1 - scale.position(level);
            const auto at = static_cast<std::int64_t>(above * static_cast<double>(bar_.height));
            const Rgb under = scale.at(scale.position(level));
            const bool bright = 2 * under.red + 5 * under.green + under.blue > 4 * 255;
            overlay_.fill({bar_.x, bar_.y + std::min(at, bar_.height - 1), bar_.width, 1},
                          bright ? black : Rgb{255, 255, 255});
        }
        overlay_.outline(bar_, black);
        draw_ticks_aside(overlay_, ticks, bar_.x + em + 1, bar_.y, tick_length, 1);
        overlay_.ink(bar_name_x, bar_.y + (bar_.height - bar_name.height) / 2, std::move(bar_name), black);
    }
    if (scale.any_missing()) {
        overlay_.fill({field_.x, legend_y + line / 4, line / 2, line / 2}, missing_color(scale.map));
        overlay_.ink(field_.x + line, legend_y, std::move(legend), black);
    }
}

void PlotFrame::paint(std::int64_t y, std::span<std::uint8_t> rgb) const {
    std::ranges::fill(rgb, std::uint8_t{255});
    if (y >= bar_.y && y < bar_.y + bar_.height) {
        const double below = static_cast<double>(bar_.y + bar_.height - y) - 0.5;
        const Rgb color = scale_.at(below / static_cast<double>(bar_.height));
        for (std::int64_t x = bar_.x; x < bar_.x + bar_.width; ++x) {
            const auto at = static_cast<std::size_t>(3 * x);
            rgb[at] = color.red, rgb[at + 1] = color.green, rgb[at + 2] = color.blue;
        }
    }
    overlay_.paint(y, rgb);
}

}  // namespace voltpile
