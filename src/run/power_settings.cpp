#include "run/power_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "base/host_name.h"
#include "comm/mpi/communicator.h"
#include "job/key_place.h"
#include "job/power_keys.h"
#include "machine/probe.h"
#include "run/agreement.h"

namespace voltpile {
namespace {

// Lines from the ranks to rank 0, which prints them as warnings or not.
constexpr char kSaid = ' ', kWarned = '!';

void add_line(std::string& lines, char kind, const std::string& text) {
    lines += kind + fmt::format("{}: {}\n", host_name(), text);
}

void print_lines(const std::vector<std::string>& of_ranks) {
    for (const std::string& lines : of_ranks) {
        std::istringstream in(lines);
        for (std::string line; std::getline(in, line);)
            if (line[0] == kWarned)
                spdlog::warn("{}", line.substr(1));
            else
                fmt::print("{}\n", line.substr(1));
    }
}

void refuse_outside(const JobSpec& spec, const char* key, double value, std::optional<double> least,
                    std::optional<double> most, const GpuSnapshot& gpu, const char* unit) {
    if (value <= 0 || ((!least || value >= *least) && (!most || value <= *most))) return;
    const std::string range = least ? fmt::format("{:.5g} to {:.5g}", *least, most.value_or(*least))
                                    : fmt::format("at most {:.5g}", *most);
    throw JobError(fmt::format("{}: {} = {:.5g}: the GPU {} ({}) of {} allows {} {}", place_of_key(spec, key),
                               key, value, gpu.bus_id, gpu.name, host_name(), range, unit));
}

GpuSettings settings_for(const JobSpec& spec, const GpuSnapshot& gpu) {
    const PowerRequest power = power_request(spec);
    refuse_outside(spec, "power.limit_w", power.limit_w, gpu.power_limit_min_w, gpu.power_limit_max_w, gpu,
                   "W");
    refuse_outside(spec, "power.sm_clock_mhz", power.sm_clock_mhz, {}, gpu.sm_clock_max_mhz, gpu, "MHz");
    refuse_outside(spec, "power.memory_clock_mhz", power.memory_clock_mhz, {}, gpu.memory_clock_max_mhz, gpu,
                   "MHz");
    GpuSettings settings;
    settings.bus_id = gpu.bus_id;
    if (power.limit_w > 0) settings.power_limit_w = power.limit_w;
    if (power.lowers_clocks && gpu.sm_clock_max_mhz) {  // any clock at first
        settings.locked_clock_mhz = *gpu.sm_clock_max_mhz;
        if (power.sm_clock_mhz > 0)
            settings.locked_clock_mhz = std::min(*settings.locked_clock_mhz, power.sm_clock_mhz);
    }
    if (power.sm_clock_mhz <= 0) return settings;
    if (gpu.application_clock_mhz && gpu.application_memory_clock_mhz) {
        settings.application_clock_mhz = power.sm_clock_mhz;
        settings.application_memory_clock_mhz =
            power.memory_clock_mhz > 0 ? power.memory_clock_mhz : *gpu.application_memory_clock_mhz;
    } else {
        settings.locked_clock_mhz = power.sm_clock_mhz;
    }
    return settings;
}

// What became of all GPUs, in few lines: mostly they are equal.
std::string outcome_lines(const std::vector<SettingsOutcome>& outcomes) {
    std::string lines;
    std::set<std::string> done, commands;
    int set = 0;
    for (const SettingsOutcome& each : outcomes) {
        if (!each.done.empty()) {
            done.insert(to_text(each.done));
            ++set;
        }
        if (!each.not_permitted.empty()) commands.insert(nvidia_smi_command(each.not_permitted));
        for (const std::string& problem : each.problems)
            add_line(lines, kWarned, fmt::format("GPU {}: {}", each.done.bus_id, problem));
    }
    if (set > 0)
        add_line(lines, kSaid,
                 fmt::format("power: {} on {} GPU{}, until the job ends", fmt::join(done, "; "), set,
                             set == 1 ? "" : "s"));
    if (!commands.empty())
        add_line(
            lines, kWarned,
            fmt::format("this user may not set the GPUs' limits and clocks; an administrator can: sudo {}",
                        fmt::join(commands, " && sudo ")));
    return lines;
}

bool is_first_of_host(const Plan& plan, int rank) {
    const auto& ranks = plan.topology.ranks;
    const int host = ranks[static_cast<std::size_t>(rank)].host;
    return std::ranges::find(ranks, host, &RankPlace::host) - ranks.begin() == rank;
}

}  // namespace

PowerSettings::PowerSettings(const Communicator& world, const PreparedJob& job) {
    const bool first = is_first_of_host(job.plan, world.rank());
    const auto lines = all_agree(world, [&] { return first ? prepare_host(job.spec) : std::string(); });
    if (world.rank() == 0) print_lines(lines);
}

std::string PowerSettings::prepare_host(const JobSpec& spec) {
    std::string lines;
    try {
        for (const RestoredGpu& gpu : restore_left_settings())
            add_line(lines, gpu.restored ? kSaid : kWarned, gpu.text);
        if (!power_request(spec).changes_gpus()) return lines;
        const NodeGpus node = probe_gpus();
        std::vector<GpuSettings> wanted;
        for (const GpuSnapshot& gpu : node.gpus)
            if (gpu.problem.empty()) wanted.push_back(settings_for(spec, gpu));
        if (wanted.empty()) {
            add_line(lines, kWarned,
                     "[power] finds no GPU to set" + (node.problem.empty() ? "" : ": " + node.problem));
            return lines;
        }
        record_ = SettingsRecord::open();
        if (!record_) {
            add_line(lines, kWarned,
                     "another run has set the GPUs' limits and clocks: this one leaves them as they are");
            return lines;
        }
        std::vector<GpuSettings> all;
        for (const GpuSettings& each : wanted) all.push_back(current_settings(*node.find(each.bus_id), each));
        record_->write(all);  // before anything changes
        const std::vector<SettingsOutcome> outcomes = change_gpus(wanted, kProbeDeadline);
        for (const SettingsOutcome& each : outcomes)
            if (!each.done.empty())
                restore_.push_back(current_settings(*node.find(each.done.bus_id), each.done));
        record_->write(restore_);
        if (power_request(spec).lowers_clocks)
            for (const SettingsOutcome& each : outcomes)
                if (each.done.locked_clock_mhz) {
                    clocks_.emplace_back().bus_id = each.done.bus_id;
                    clocks_.back().locked_clock_mhz = each.done.locked_clock_mhz;
                }
        lines += outcome_lines(outcomes);
    } catch (const JobError&) {
        throw;
    } catch (const Error& error) {
        add_line(lines, kWarned, fmt::format("cannot set the GPUs' limits and clocks: {}", error.what()));
    }
    return lines;
}

PowerSettings::~PowerSettings() {
    if (restore_.empty()) return;
    try {
        for (const SettingsOutcome& each : change_gpus(restore_, kProbeDeadline)) {
            if (!each.problems.empty())
                spdlog::warn("GPU {}: cannot restore: {}", each.done.bus_id, fmt::join(each.problems, "; "));
            if (each.problems.empty() && each.not_permitted.empty())
                std::erase_if(restore_,
                              [&](const GpuSettings& gpu) { return gpu.bus_id == each.done.bus_id; });
        }
        record_->write(restore_);  // the next run tries again
    } catch (const std::exception& error) {
        spdlog::warn("cannot restore the GPUs' limits and clocks, the next run will: {}", error.what());
    }
}

}  // namespace voltpile
