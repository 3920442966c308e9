#include "results/hdf5/plan_group.h"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "results/hdf5/attribute.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/group_io.h"

namespace voltpile {
namespace {

constexpr const char* kRank = "rank";            // the dimension
constexpr const char* kProcessor = "processor";  // texts along it
constexpr const char* kBusy = "busy_time";

// The columns that are planned and measured: "planned_rate" and "measured_rate".
struct RankColumn {
    const char* name;
    PlannedValue RankRecord::*member;
    const char* unit;  // empty: units of work per second
    const char* long_name;
};
constexpr std::array kRankColumns{
    RankColumn{"rate", &RankRecord::units_per_s, "", "work per second over the whole run"},
    RankColumn{"host_memory", &RankRecord::host_bytes, "byte", "host memory of the process"},
    RankColumn{"gpu_memory", &RankRecord::gpu_bytes, "byte", "memory in use on the rank's GPU"}};
constexpr std::array<std::pair<const char*, double PlannedValue::*>, 2> kSides{
    {{"planned", &PlannedValue::planned}, {"measured", &PlannedValue::measured}}};

// The attributes that are planned and measured: "plannedSeconds" and "measuredSeconds".
constexpr std::array<std::pair<const char*, PlannedValue PlanRecord::*>, 5> kQuantities{
    {{"Seconds", &PlanRecord::seconds},
     {"StartSeconds", &PlanRecord::start_seconds},
     {"EndSeconds", &PlanRecord::end_seconds},
     {"Work", &PlanRecord::units},
     {"Energy", &PlanRecord::joules}}};

std::string path_in_plan(const std::string& name) {
    return fmt::format("{}/{}", kPlanGroup, name);
}

std::string column_path(const char* side, const RankColumn& column) {
    return path_in_plan(fmt::format("{}_{}", side, column.name));
}

void describe_column(hid_t file, const Hdf5Dataset& dataset, const std::string& unit,
                     const std::string& long_name) {
    write_text(dataset.get(), "units", unit);
    write_text(dataset.get(), "long_name", long_name);
    const Hdf5Dataset scale = open_dataset(file, path_in_plan(kRank));
    hdf5_check_at(H5DSattach_scale(dataset.get(), scale.get(), 0), "write", file);
}

void write_ranks(hid_t file, const PlanRecord& record) {
    const std::size_t count = record.ranks.size();
    std::vector<std::int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    const Hdf5Dataset scale =
        write_values(file, path_in_plan(kRank), {count}, std::span<const std::int64_t>(numbers));
    hdf5_check_at(H5DSset_scale(scale.get(), kRank), "write", file);
    write_text(scale.get(), "long_name", "rank");
    std::vector<std::string> processors;
    std::vector<double> values;
    for (const RankRecord& rank : record.ranks) {
        processors.push_back(rank.processor);
        values.push_back(rank.busy_seconds);
    }
    describe_column(file, write_texts_dataset(file, path_in_plan(kProcessor), processors), "",
                    "what the rank computed on");
    describe_column(file, write_values(file, path_in_plan(kBusy), {count}, std::span<const double>(values)),
                    "s", "time during which the processor computed");
    for (const RankColumn& column : kRankColumns)
        for (const auto& [side, value] : kSides) {
            values.clear();
            for (const RankRecord& rank : record.ranks) values.push_back(rank.*column.member.*value);
            const std::string unit = *column.unit ? column.unit : record.unit + "/s";
            describe_column(
                file, write_values(file, column_path(side, column), {count}, std::span<const double>(values)),
                unit, fmt::format("{}, {}", column.long_name, side));
        }
}

}  // namespace

void write_plan_group(hid_t file, const PlanRecord& record) {
    const Hdf5Group group = create_group(file, kPlanGroup);
    write_text(group.get(), "unit", record.unit);
    write_integer(group.get(), "points", record.points);
    for (const auto& [name, member] : kQuantities)
        for (const auto& [side, value] : kSides)
            if (!std::isnan(record.*member.*value))
                write_real(group.get(), fmt::format("{}{}", side, name), record.*member.*value);
    write_ranks(file, record);
    write_content_checksum(group.get());
}

std::optional<PlanRecord> read_plan_group(hid_t file) {
    const std::optional<Hdf5Group> group = open_group(file, kPlanGroup);
    if (!group) return std::nullopt;
    PlanRecord record;
    record.unit = read_text(group->get(), "unit");
    record.points = read_integer(group->get(), "points");
    for (const auto& [name, member] : kQuantities)
        for (const auto& [side, value] : kSides)
            if (const std::string attribute = fmt::format("{}{}", side, name);
                has_attribute(group->get(), attribute))
                record.*member.*value = read_real(group->get(), attribute);
    const std::vector<std::string> processors =
        read_text_dataset(open_dataset(file, path_in_plan(kProcessor)).get());
    const auto column = [&](const std::string& path) {
        std::vector<double> values = read_reals(file, path);
        if (values.size() != processors.size()) throw FileError(path + " has a wrong number of ranks");
        return values;
    };
    record.ranks.resize(processors.size());
    const std::vector<double> busy = column(path_in_plan(kBusy));
    for (std::size_t r = 0; r < processors.size(); ++r) {
        record.ranks[r].processor = processors[r];
        record.ranks[r].busy_seconds = busy[r];
    }
    for (const RankColumn& each : kRankColumns)
        for (const auto& [side, value] : kSides) {
            const std::vector<double> values = column(column_path(side, each));
            for (std::size_t r = 0; r < values.size(); ++r) record.ranks[r].*each.member.*value = values[r];
        }
    return record;
}

std::vector<Damage> damaged_plan_values(hid_t file) {
    if (H5Lexists(file, kPlanGroup, H5P_DEFAULT) <= 0) return {};
    std::vector<std::string> paths{path_in_plan(kRank), path_in_plan(kBusy)};
    for (const RankColumn& column : kRankColumns)
        for (const auto& [side, value] : kSides) paths.push_back(column_path(side, column));
    return damaged_datasets(file, paths);
}

}  // namespace voltpile
