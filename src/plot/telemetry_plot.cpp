#include "plot/telemetry_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "base/error.h"
#include "plot/overlay.h"
#include "plot/picture.h"
#include "plot/png_file.h"
#include "plot/ticks.h"

namespace voltpile {
namespace {

constexpr std::int64_t kChartWidth = 1000, kChartHeight = 190;  // inside the frame
constexpr std::int64_t kLeft = 90, kAbove = 40, kBelow = 40, kRight = 230;
constexpr int kEm = 15;
constexpr Rgb kInk{0, 0, 0}, kGrid{225, 225, 225};
// Okabe and Ito's colors, which people with any color vision can distinguish.
constexpr std::array<Rgb, 7> kLines{
    {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {230, 159, 0}, {86, 180, 233}, {0, 0, 0}}};

struct Quantity {
    const char* column;
    const char* title;
    double scale;
    double least_top = 1;  // of its axis
};
constexpr std::array<Quantity, 9> kQuantities{
    {{"power_w", "power of each GPU (W)", 1},
     {"temperature_c", "temperature (°C)", 1},
     {"sm_clock_mhz", "SM clock (MHz)", 1},
     {"utilization_percent", "utilization of each GPU (%)", 1, 100},
     {"cpu_percent", "processors of each host (%)", 1, 100},
     {"cpu_temperature_c", "processor temperature of each host (°C)", 1},
     {"cpu_power_w", "power of each host's processors (W)", 1},
     {"host_power_w", "power of each host (W)", 1},
     {"host_memory_used_bytes", "memory of each host (GB)", 1e-9}}};

struct TimeLine {
    std::string name;
    std::vector<std::pair<double, double>> points;  // (seconds, value); NaN: a gap
};

// Samples further apart than this belong to two runs.
double longest_gap_s(const std::vector<double>& times_s) {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < times_s.size(); ++i) gaps.push_back(times_s[i] - times_s[i - 1]);
    if (gaps.empty()) return 0;
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    constexpr double least_s = 60, of_usual = 3;
    return std::max(least_s, of_usual * *middle);
}

std::vector<TimeLine> lines_of(const std::vector<NodeTelemetry>& nodes, const Quantity& quantity,
                               double begin_s) {
    std::vector<TimeLine> lines;
    std::map<std::string, std::vector<std::string>> gpus;  // of each host, in the order of the file
    for (const NodeTelemetry& node : nodes)
        for (const TelemetryColumn& column : node.columns) {
            if (column.name != quantity.column) continue;
            std::string name = node.host;
            if (!column.device.empty()) {
                std::vector<std::string>& known = gpus[node.host];
                const auto gpu = std::ranges::find(known, column.device);
                name += fmt::format(" GPU {}", gpu - known.begin());
                if (gpu == known.end()) known.push_back(column.device);
            }
            const auto found = std::ranges::find(lines, name, &TimeLine::name);
            TimeLine& line = found == lines.end() ? lines.emplace_back(TimeLine{name, {}}) : *found;
            if (!line.points.empty())  // of an earlier run
                line.points.emplace_back(line.points.back().first, std::numeric_limits<double>::quiet_NaN());
            const double gap_s = longest_gap_s(node.times_s);
            double before = std::numeric_limits<double>::quiet_NaN();
            for (std::size_t i = 0; i < node.times_s.size(); ++i) {
                if (node.times_s[i] - before > gap_s)
                    line.points.emplace_back(before, std::numeric_limits<double>::quiet_NaN());
                before = node.times_s[i];
                line.points.emplace_back(before - begin_s, column.values[i] * quantity.scale);
            }
        }
    return lines;
}

class TimeChart {
  public:
    TimeChart(Overlay& overlay, std::int64_t chart_top, double seconds)
        : overlay_(overlay),
          box_{kLeft, chart_top, kChartWidth, kChartHeight},
          seconds_(std::max(seconds, 1e-3)) {}

    void draw(const Quantity& quantity, const std::vector<TimeLine>& lines) {
        high_ = quantity.least_top;
        for (const TimeLine& line : lines)
            for (const auto& [time, value] : line.points)
                if (std::isfinite(value)) high_ = std::max(high_, value);
        high_ *= 1.05;
        overlay_.ink(box_.x, box_.y - 26, render_text(quantity.title, kEm), kInk);
        for (const Tick& tick : linear_ticks(0, high_, 6)) {
            overlay_.fill({box_.x, y_of(tick.value), box_.width, 1}, kGrid);
            TextImage label = render_text(tick.label, kEm);
            const int label_width = label.width, label_height = label.height;
            overlay_.ink(box_.x - 8 - label_width, y_of(tick.value) - label_height / 2, std::move(label),
                         kInk);
        }
        for (const Tick& tick : linear_ticks(0, seconds_, 10)) {
            overlay_.fill({x_of(tick.value), box_.y, 1, box_.height}, kGrid);
            TextImage label = render_text(tick.label, kEm);
            const int label_width = label.width;
            overlay_.ink(x_of(tick.value) - label_width / 2, box_.y + box_.height + 4, std::move(label),
                         kInk);
        }
        constexpr std::size_t most_names = 9;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const Rgb color = kLines[i % kLines.size()];
            draw_line(lines[i], color);
            if (i >= most_names) continue;
            const std::int64_t row = box_.y + 20 * static_cast<std::int64_t>(i);
            const bool rest = i + 1 == most_names && lines.size() > most_names;
            if (!rest) overlay_.fill({box_.x + box_.width + 12, row + 8, 18, 3}, color);
            overlay_.ink(
                box_.x + box_.width + 36, row,
                render_text(rest ? fmt::format("and {} more", lines.size() - i) : lines[i].name, kEm), kInk);
        }
        overlay_.outline(box_, kInk);
    }

  private:
    std::int64_t x_of(double time) const {
        return box_.x + std::llround(time / seconds_ * static_cast<double>(box_.width - 1));
    }
    std::int64_t y_of(double value) const {
        const double share = std::clamp(value / high_, 0.0, 1.0);
        return box_.y + box_.height - 1 - std::llround(share * static_cast<double>(box_.height - 1));
    }

    // Each column of pixels gets one stroke over all values that fall into it and the way from the one
    // before: as many strokes as pixels, however many samples there are.
    void draw_line(const TimeLine& line, Rgb color) {
        bool begun = false;
        std::int64_t x = 0, last = 0, from = 0, to = 0;
        const auto stroke = [&] { overlay_.fill({x, from, 2, to - from + 2}, color); };
        for (const auto& [time, value] : line.points) {
            if (!std::isfinite(value)) {
                if (begun) stroke();
                begun = false;
                continue;
            }
            const std::int64_t at = x_of(time), y = y_of(value);
            if (begun && at != x) {
                stroke();
                overlay_.fill({x, last, at - x, 2}, color);
                from = to = last;
            }
            if (!begun) from = to = y;
            begun = true;
            x = at;
            from = std::min(from, y);
            to = std::max(to, y);
            last = y;
        }
        if (begun) stroke();
    }

    Overlay& overlay_;
    Box box_;
    double seconds_;
    double high_ = 1;
};

}  // namespace

void plot_telemetry(const std::vector<NodeTelemetry>& nodes, const std::filesystem::path& result,
                    const std::filesystem::path& output) {
    check_picture_place(output, "--output", {result});
    double begin_s = std::numeric_limits<double>::infinity(), end_s = 0;
    for (const NodeTelemetry& node : nodes) {
        if (node.times_s.empty()) continue;
        begin_s = std::min(begin_s, node.times_s.front());
        end_s = std::max(end_s, node.times_s.back());
    }
    Overlay overlay;
    std::int64_t chart_top = kAbove + 20;
    for (const Quantity& quantity : kQuantities) {
        const std::vector<TimeLine> lines = lines_of(nodes, quantity, begin_s);
        if (lines.empty()) continue;
        TimeChart(overlay, chart_top, end_s - begin_s).draw(quantity, lines);
        chart_top += kChartHeight + kAbove + kBelow;
    }
    if (chart_top == kAbove + 20)
        throw JobError(
            fmt::format("{} has no telemetry: the job ran with telemetry.record = \"no\", or for "
                        "less than a minute without GPUs",
                        result.string()));
    const std::string title = fmt::format("telemetry of {}", result.filename().string());
    overlay.ink(kLeft, 6, render_text(title + ", over seconds since its first sample", kEm + 2), kInk);
    const std::int64_t picture_width = kLeft + kChartWidth + kRight;
    const std::int64_t picture_height = chart_top - kAbove + 10;
    PngFile picture(output, picture_width, picture_height, picture_texts(title, title));
    std::vector<std::uint8_t> row(static_cast<std::size_t>(3 * picture_width));
    for (std::int64_t y = 0; y < picture_height; ++y) {
        std::ranges::fill(row, std::uint8_t{255});
        overlay.paint(y, row);
        picture.write_row(row);
    }
    picture.finish();
}

}  // namespace voltpile
