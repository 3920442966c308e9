#include "cluster/top_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "base/format.h"
#include "base/text_table.h"

namespace voltpile {
namespace {

using Number = std::optional<double>;

// Files are renewed every second; network file systems show that late.
constexpr double kStale_s = 10;

std::string or_dash(const Number& value, const char* unit, double scale = 1, int digits = 0) {
    return value ? fmt::format("{:.{}f}{}", *value * scale, digits, unit) : "-";
}

std::string per_second(const Number& bytes_per_s) {
    return bytes_per_s ? bytes_text(*bytes_per_s) + "/s" : "-";
}

// The number of code points: hosts and GPUs have names in ASCII, but "°" has two bytes.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut_to(const std::string& text, std::size_t columns) {
    std::size_t bytes = 0, width = 0;
    for (; bytes < text.size(); ++bytes)
        if ((static_cast<unsigned char>(text[bytes]) & 0xc0) != 0x80 && ++width > columns) break;
    return text.substr(0, bytes);
}

class Page {
  public:
    explicit Page(int columns) : columns_(static_cast<std::size_t>(std::max(columns, 1))) {}

    void line(const std::string& text) { lines_.push_back(cut_to(text, columns_)); }

    // Omits the last columns that do not fit.
    void table(std::vector<TextRow> rows, const std::set<std::size_t>& right) {
        for (;;) {
            const std::vector<std::string> lines = lines_of(text_table(rows, right));
            const bool fits = std::ranges::all_of(
                lines, [this](const std::string& each) { return width_of(each) <= columns_; });
            if (fits || rows.front().size() == 1) {
                for (const std::string& each : lines) line(each);
                return;
            }
            for (TextRow& row : rows) row.pop_back();
        }
    }

    std::vector<std::string> take() { return std::move(lines_); }

  private:
    static std::vector<std::string> lines_of(const std::string& text) {
        std::vector<std::string> lines;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            lines.push_back(text.substr(at, end - at));
            at = end + 1;
        }
        return lines;
    }

    std::size_t columns_;
    std::vector<std::string> lines_;
};

std::string node_line(const LiveNode& node, double now_s) {
    const HostReading& host = node.sample.host;
    std::string text = node.host;
    if (host.cpu_percent) text += fmt::format("  cpu {:.0f} %", *host.cpu_percent);
    if (host.cpu_temperature_c) text += fmt::format(" {:.0f} °C", *host.cpu_temperature_c);
    if (host.cpu_power_w) text += fmt::format(" {:.0f} W", *host.cpu_power_w);
    if (host.memory_used_bytes && host.memory_total_bytes)
        text += fmt::format("  memory {} of {}", bytes_text(*host.memory_used_bytes),
                            bytes_text(*host.memory_total_bytes));
    if (host.network_received_bytes_per_s)
        text += fmt::format("  network {} in, {} out", per_second(host.network_received_bytes_per_s),
                            per_second(host.network_sent_bytes_per_s));
    if (host.host_power_w) text += fmt::format("  power {:.0f} W", *host.host_power_w);
    const std::size_t gpus = node.sample.gpus.gpus.size();
    if (gpus > 0) text += fmt::format("  {} GPU{}", gpus, gpus == 1 ? "" : "s");
    if (const Number power = node.sample.gpus.power_w()) text += fmt::format(" {:.0f} W", *power);
    if (node.sample.time_s > 0 && now_s - node.sample.time_s > kStale_s)
        text += fmt::format("  no news for {}", duration_text(now_s - node.sample.time_s));
    return text;
}

std::string slowed_by(const GpuSnapshot& gpu) {
    constexpr std::uint64_t idle = 1;
    const auto bits = static_cast<std::uint64_t>(gpu.throttle_reasons.value_or(0)) & ~idle;
    return fmt::format("{}", fmt::join(throttle_names(bits), ", "));
}

void add_gpus(Page& page, const NodeGpus& node) {
    if (node.gpus.empty()) return;
    std::vector<TextRow> rows{{"  GPU", "power", "temp", "SM clock", "busy", "memory", "slowed by",
                               "memory temp", "PCIe out", "PCIe in", "NVLink out", "NVLink in", "name"}};
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        const GpuSnapshot& gpu = node.gpus[i];
        const std::string memory =
            gpu.memory_used_bytes && gpu.memory_total_bytes
                ? fmt::format("{:.1f}/{:.0f} GB", *gpu.memory_used_bytes / 1e9, *gpu.memory_total_bytes / 1e9)
                : "-";
        rows.push_back(
            {fmt::format("  {}", i), or_dash(gpu.power_instant_w ? gpu.power_instant_w : gpu.power_w, " W"),
             or_dash(gpu.temperature_c, " °C"), or_dash(gpu.sm_clock_mhz, " MHz"),
             or_dash(gpu.utilization_percent, " %"), memory,
             gpu.problem.empty() ? slowed_by(gpu) : gpu.problem, or_dash(gpu.memory_temperature_c, " °C"),
             per_second(gpu.pcie_sent_bytes_per_s), per_second(gpu.pcie_received_bytes_per_s),
             per_second(gpu.nvlink_sent_bytes_per_s), per_second(gpu.nvlink_received_bytes_per_s), gpu.name});
    }
    page.table(std::move(rows), {1, 2, 3, 4, 5, 7, 8, 9, 10, 11});
}

void add_ranks(Page& page, const LiveJob& job) {
    double units = 0;
    for (const LiveRank& rank : job.ranks) units += rank.units;
    std::vector<TextRow> rows{{"rank", "host", "points", "share", "busy", "computes on"}};
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
        const LiveRank& rank = job.ranks[r];
        rows.push_back({fmt::format("{}", r), rank.host, count_text(rank.points),
                        fmt::format("{:.1f} %", units > 0 ? 100 * rank.units / units : 0),
                        fmt::format("{:.0f} %", job.elapsed_s > 0 ? 100 * rank.busy_s / job.elapsed_s : 0),
                        rank.processor});
    }
    page.table(std::move(rows), {0, 2, 3, 4});
}

}  // namespace

std::vector<std::string> top_page(const LiveStatus& status, double now_s, int columns) {
    Page page(columns);
    for (const LiveJob& job : status.jobs) {
        page.line(job.line);
        if (now_s - job.time_s > kStale_s)
            page.line(fmt::format("no news for {}: the run may be dead", duration_text(now_s - job.time_s)));
    }
    for (const LiveNode& node : status.nodes) {
        page.line("");
        page.line(node_line(node, now_s));
        if (!node.sample.gpus.problem.empty()) page.line("  no GPUs: " + node.sample.gpus.problem);
        add_gpus(page, node.sample.gpus);
    }
    for (const LiveJob& job : status.jobs) {
        if (job.ranks.empty()) continue;
        page.line("");
        add_ranks(page, job);
    }
    return page.take();
}

}  // namespace voltpile
