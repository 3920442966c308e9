#include "plot/terminal_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"

namespace voltpile {
namespace {

constexpr std::int64_t lines_around = 4;  // title, colors, missing points, prompt

// Returns the pixels that the terminal has for a picture: two for each character, one above the other.
std::int64_t pixel_rows(const TerminalSize& size) {
    return 2 * std::max<std::int64_t>(1, size.rows - lines_around);
}

std::string foreground(const DeepColor& color) {
    return fmt::format("\033[38;2;{};{};{}m", color[0] >> 8, color[1] >> 8, color[2] >> 8);
}

std::string background(const DeepColor& color) {
    return fmt::format("\033[48;2;{};{};{}m", color[0] >> 8, color[1] >> 8, color[2] >> 8);
}

// A strip of the scale's colors between its ends.
std::string bar_text(const ColorScale& scale) {
    constexpr int cells = 24;
    std::string text = fmt::format("{:g} ", scale.period > 0 ? 0 : scale.min);
    for (int i = 0; i < cells; ++i) {
        const Rgb color = scale.at((i + 0.5) / cells);
        text += fmt::format("\033[48;2;{};{};{}m ", color.red, color.green, color.blue);
    }
    return text + fmt::format("\033[0m {:g}", scale.period > 0 ? scale.period : scale.max);
}

}  // namespace

std::int64_t terminal_block(std::int64_t width, std::int64_t height, const TerminalSize& size) {
    const std::int64_t pixels = pixel_rows(size), columns = std::max<std::int64_t>(1, size.columns);
    return std::max((width + columns - 1) / columns, (height + pixels - 1) / pixels);
}

std::string terminal_text(const Picture& picture, const PictureLook& look, const TerminalSize& size) {
    FieldLook field;
    const std::int64_t pixels = pixel_rows(size);
    field.pixels_x =
        std::max<std::int64_t>(1, std::min(size.columns / picture.width, pixels / picture.height));
    field.pixels_y = picture.labels.y ? field.pixels_x : std::min<std::int64_t>(8, pixels);
    field.shade = look.shade;
    field.contours = look.contours;
    FieldPainter painter(picture.row, picture.width, picture.height, picture.colors, field);
    std::vector<DeepColor> upper(static_cast<std::size_t>(painter.width())), lower(upper.size());
    std::string text = picture.labels.title + '\n';
    for (std::int64_t y = 0; y < painter.height(); y += 2) {
        const bool two = y + 1 < painter.height();
        painter.paint(y, upper);
        if (two) painter.paint(y + 1, lower);
        for (std::size_t x = 0; x < upper.size(); ++x) {
            if (x == 0 || upper[x] != upper[x - 1]) text += foreground(upper[x]);
            if (two && (x == 0 || lower[x] != lower[x - 1])) text += background(lower[x]);
            text += "\u2580";
        }
        text += "\033[0m\n";
    }
    if (picture.colors.any_value()) text += bar_text(picture.colors) + '\n';
    const std::int64_t missing = picture.colors.without + picture.colors.unshowable;
    if (missing > 0)
        text +=
            fmt::format("{} of {} without a value\n", count_text(missing), count_text(picture.colors.points));
    return text;
}

}  // namespace voltpile
