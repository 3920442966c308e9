#include "plot/size_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/xml_text.h"

namespace voltpile {
namespace {

constexpr double width = 760, height = 420;  // of one chart, in pixels
constexpr double left = 70, right = 190, top = 36, bottom = 48;

// Okabe and Ito's colors, which people with any color vision can distinguish.
constexpr std::array colors{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

// The logarithms of an axis' ends, which are at least a factor of two apart.
struct Axis {
    double low = 1e300, high = -1e300;
    double from = 0, to = 0;  // pixels

    void include(double value) {
        low = std::min(low, std::log2(value));
        high = std::max(high, std::log2(value));
    }
    double at(double value) const {
        const double span = std::max(high - low, 1.0);
        return from + (to - from) * (std::log2(value) - low) / span;
    }
};

bool drawable(const std::pair<double, double>& point) {
    return point.first > 0 && point.second > 0 && std::isfinite(point.first) && std::isfinite(point.second);
}

std::string size_text(double bytes) {
    constexpr std::array units{"", "K", "M", "G"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < units.size()) bytes /= 1024, ++unit;
    return fmt::format("{:g}{}", bytes, units[unit]);
}

// Calls use(value) for 1, 2 and 5 times each power of ten from `first` on, until it returns false.
template <class Use>
void for_round_values(int first, Use use) {
    for (int decade = first; decade < 308; ++decade)
        for (const int digit : {1, 2, 5})
            if (!use(digit, digit * std::pow(10.0, decade))) return;
}

// Extends an axis to round values.
void round_ends(Axis& axis) {
    const double low = std::exp2(axis.low), high = std::exp2(axis.high);
    for_round_values(static_cast<int>(std::floor(std::log10(low))), [&](int, double value) {
        if (value <= low) axis.low = std::log2(value);
        axis.high = std::log2(value);
        return value < high;
    });
}

std::string text_at(double x, double y, const std::string& text, const char* anchor, const char* more = "") {
    return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'{}>{}</text>\n", x, y, anchor, more,
                       xml_text(text));
}

std::string rule(double x1, double y1, double x2, double y2) {
    return fmt::format("<path d='M{:.1f} {:.1f}L{:.1f} {:.1f}' stroke='#ddd'/>\n", x1, y1, x2, y2);
}

std::string grid(const Axis& x, const Axis& y) {
    std::string svg;
    // The powers of two from line to line, so that labels have room.
    const int step = std::max(1, static_cast<int>(std::ceil((x.high - x.low) / 10)));
    for (int power = static_cast<int>(std::ceil(x.low)); power <= x.high; power += step) {
        const double at = x.at(std::exp2(power));
        svg += rule(at, y.from, at, y.to) + text_at(at, y.from + 16, size_text(std::exp2(power)), "middle");
    }
    const bool narrow = y.high - y.low < 2 * std::log2(10.0);
    for_round_values(static_cast<int>(std::floor(y.low / std::log2(10.0))), [&](int digit, double value) {
        if (std::log2(value) > y.high + 1e-9) return false;
        if (std::log2(value) >= y.low - 1e-9 && (digit == 1 || narrow))
            svg += rule(x.from, y.at(value), x.to, y.at(value)) +
                   text_at(x.from - 6, y.at(value) + 4, fmt::format("{:g}", value), "end");
        return true;
    });
    return svg;
}

std::string line_and_name(const ChartLine& line, std::size_t index, const Axis& x, const Axis& y) {
    const char* const color = colors[index % colors.size()];
    std::string path, dots;
    for (const auto& point : line.points) {
        if (!drawable(point)) continue;
        path +=
            fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(point.first), y.at(point.second));
        dots += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.5' fill='{}'/>", x.at(point.first),
                            y.at(point.second), color);
    }
    const double row = y.to + 14 + 18 * static_cast<double>(index);
    return fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='1.5'/>{}\n", path, color, dots) +
           fmt::format("<path d='M{:.1f} {:.1f}h18' stroke='{}' stroke-width='3'/>\n", x.to + 12, row - 4,
                       color) +
           text_at(x.to + 36, row, line.name, "start");
}

std::string chart_svg(const SizeChart& chart, double above) {
    Axis x, y;
    x.from = left, x.to = width - right;
    y.from = above + height - bottom, y.to = above + top;
    for (const ChartLine& line : chart.lines)
        for (const auto& point : line.points)
            if (drawable(point)) x.include(point.first), y.include(point.second);
    round_ends(y);
    std::string svg = text_at(x.from, above + 20, chart.title, "start", " font-weight='bold'") + grid(x, y) +
                      text_at((x.from + x.to) / 2, y.from + 36, "bytes", "middle");
    svg += fmt::format("<g transform='translate(18 {:.1f}) rotate(-90)'>{}</g>\n", (y.from + y.to) / 2,
                       text_at(0, 0, chart.value_label, "middle"));
    for (std::size_t i = 0; i < chart.lines.size(); ++i) svg += line_and_name(chart.lines[i], i, x, y);
    return svg;
}

bool has_points(const SizeChart& chart) {
    return std::ranges::any_of(
        chart.lines, [](const ChartLine& line) { return std::ranges::any_of(line.points, drawable); });
}

}  // namespace

ChartLine& SizeChart::line(const std::string& name) {
    for (ChartLine& line : lines)
        if (line.name == name) return line;
    return lines.emplace_back(ChartLine{name, {}});
}

std::string to_svg(const std::vector<SizeChart>& charts) {
    std::string body;
    double above = 0;
    for (const SizeChart& chart : charts) {
        if (!has_points(chart)) continue;
        body += chart_svg(chart, above);
        above += height;
    }
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
        "font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
        "fill='white'/>\n{2}</svg>\n",
        width, above, body);
}

}  // namespace voltpile
