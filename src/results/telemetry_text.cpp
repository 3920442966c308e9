#include "results/telemetry_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "base/format.h"
#include "base/text_table.h"
#include "results/statistics.h"

namespace voltpile {
namespace {

std::string time_text(double unix_time_s) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(unix_time_s)));
}

std::string heading(const NodeTelemetry& node) {
    const auto samples = static_cast<std::int64_t>(node.times_s.size());
    return fmt::format("{}: {} sample{} from {} to {} UTC\n", node.host, count_text(samples),
                       samples == 1 ? "" : "s", time_text(node.times_s.front()),
                       time_text(node.times_s.back()));
}

std::string node_text(const NodeTelemetry& node) {
    std::vector<TextRow> rows{{"value", "of", "unit", "min", "mean", "max", "last", "unknown"}};
    for (const TelemetryColumn& column : node.columns) {
        Statistics found;
        double last = 0;
        for (const double value : column.values) {
            found.add(value);
            if (std::isfinite(value)) last = value;
        }
        if (found.finite == 0) continue;
        const auto number = [](double value) { return fmt::format("{:.7g}", value); };
        rows.push_back({column.name, column.device.empty() ? "host" : column.device, column.unit,
                        number(found.min), number(found.mean()), number(found.max), number(last),
                        count_text(found.nan + found.infinite)});
    }
    return heading(node) + text_table(rows, {3, 4, 5, 6, 7});
}

}  // namespace

std::string telemetry_text(const std::vector<NodeTelemetry>& nodes) {
    std::string text;
    if (const GpuPower power = gpu_power(nodes); power.gpus > 0 && power.mean_w > 0)
        text = energy_text(power, power.energy_j / power.mean_w, 0, "") + "\n";
    for (const NodeTelemetry& node : nodes)
        if (!node.times_s.empty()) text += (text.empty() ? "" : "\n") + node_text(node);
    return text;
}

}  // namespace voltpile
