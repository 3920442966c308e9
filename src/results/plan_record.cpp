#include "results/plan_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/format.h"
#include "base/text_table.h"
#include "results/hdf5/plan_group.h"

namespace voltpile {
namespace {

using Format = std::function<std::string(double)>;

// "-7.3 %": how far the measured value is from the planned one.
std::string deviation_text(const PlannedValue& value) {
    const double ratio = value.measured / value.planned;
    return std::isfinite(ratio) ? fmt::format("{:+.1f} %", 100 * (ratio - 1)) : "";
}

void add_row(std::vector<TextRow>& rows, const std::string& name, const PlannedValue& value,
             const Format& format) {
    if (std::isnan(value.planned) && std::isnan(value.measured)) return;
    const auto text = [&](double number) { return std::isnan(number) ? std::string("-") : format(number); };
    rows.push_back({name, text(value.planned), text(value.measured), deviation_text(value)});
}

// The largest of each over the ranks, which may be different ones.
PlannedValue largest_of(const std::vector<RankRecord>& ranks, PlannedValue RankRecord::*member) {
    PlannedValue most;
    for (const RankRecord& rank : ranks) {
        most.planned = std::fmax(most.planned, (rank.*member).planned);
        most.measured = std::fmax(most.measured, (rank.*member).measured);
    }
    return most;
}

}  // namespace

std::optional<PlanRecord> read_plan_record(const std::filesystem::path& result) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(result, error)) return std::nullopt;
    Hdf5Guard guard;
    const Hdf5File file = open_hdf5(result.string());
    return read_plan_group(file.get());
}

std::string plan_record_text(const PlanRecord& record) {
    const Format number = [](double value) { return fmt::format("{:.4g}", value); };
    const Format watt_hours = [](double joules) { return fmt::format("{:.4g} Wh", joules / 3600); };
    std::vector<TextRow> rows{{"plan", "planned", "measured", "difference"}};
    add_row(rows, "time", record.seconds, duration_text);
    add_row(rows, "start", record.start_seconds, duration_text);
    add_row(rows, "end", record.end_seconds, duration_text);
    add_row(rows, record.unit, record.units, number);
    add_row(rows, record.unit + "/s",
            {record.units.planned / record.seconds.planned, record.units.measured / record.seconds.measured},
            number);
    add_row(rows, "energy", record.joules, watt_hours);
    const std::string of_rank = record.ranks.size() > 1 ? " of the fullest rank" : "";
    add_row(rows, "host memory" + of_rank, largest_of(record.ranks, &RankRecord::host_bytes), bytes_text);
    add_row(rows, "GPU memory" + of_rank, largest_of(record.ranks, &RankRecord::gpu_bytes), bytes_text);
    return text_table(rows, {1, 2, 3});
}

}  // namespace voltpile
