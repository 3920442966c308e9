#include "run/record_plan.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "device/device.h"
#include "device/memory.h"

namespace voltpile {
namespace {

// Returns the most memory that this process has had resident; 0 if the kernel does not say.
std::int64_t peak_resident_bytes() {
    constexpr std::string_view key = "VmHWM:";  // in KiB
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key)) return std::atoll(line.c_str() + key.size()) * 1024;
    return 0;
}

std::int64_t gpu_bytes_of(const RankPlan& rank) {
    if (rank.device < 0) return 0;
    use_device(rank.device);
    return device_bytes_in_use();
}

// Sets a value that is known if it is not 0.
void set_known(double& to, double value) {
    if (value > 0) to = value;
}

}  // namespace

RankMemory memory_in_use(const RankPlan& rank) {
    return {peak_resident_bytes(), gpu_bytes_of(rank)};
}

PlanRecord record_plan(const Plan& plan, const LoopOutcome& outcome) {
    PlanRecord record;
    record.unit = plan.workload.unit;
    record.units.measured = 0;
    for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
        const RankPlan& planned = plan.ranks[r];
        const RankProgress& did = outcome.ranks[r];
        record.points += did.points;
        record.units.measured += did.units;
        RankRecord& rank = record.ranks.emplace_back();
        rank.processor = fmt::format("{} of {}", processor_text(plan, planned), plan.host_of(planned).name);
        rank.units_per_s = {planned.units_per_s, did.units / outcome.seconds};
        rank.busy_seconds = did.busy_s;
        set_known(rank.host_bytes.planned, static_cast<double>(planned.memory_bytes));
        set_known(rank.host_bytes.measured, static_cast<double>(outcome.memory[r].host_bytes));
        set_known(rank.gpu_bytes.planned, static_cast<double>(planned.gpu_memory_bytes));
        set_known(rank.gpu_bytes.measured, static_cast<double>(outcome.memory[r].gpu_bytes));
    }
    const double share = static_cast<double>(record.points) / static_cast<double>(plan.workload.points);
    record.seconds = {plan.seconds * share, outcome.seconds};
    set_known(record.start_seconds.planned, plan.start_s);
    set_known(record.start_seconds.measured, outcome.start_s);
    set_known(record.end_seconds.planned, plan.end_s);
    record.units.planned = static_cast<double>(record.points) * plan.workload.units_per_point;
    if (plan.watts > 0) record.joules.planned = plan.watts * record.seconds.planned;
    if (outcome.power.gpus > 0) record.joules.measured = outcome.gpu_energy_j();
    return record;
}

}  // namespace voltpile
