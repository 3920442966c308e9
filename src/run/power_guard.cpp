#include "run/power_guard.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/host_name.h"
#include "job/power_keys.h"
#include "machine/probe.h"
#include "run/agreement.h"

namespace voltpile {
namespace {

constexpr std::chrono::milliseconds kPatrolEvery{20};
// Smaller changes of the share are not recorded, and messages come only so often.
constexpr double kNotable = 0.02, kWorthAMessage = 0.1;
constexpr std::chrono::seconds kBetweenMessages{30};

// The sum of the power limits of the GPUs; 0: a GPU does not say.
double most_of(const NodeGpus& node) {
    double sum = 0;
    for (const GpuSnapshot& gpu : node.gpus) {
        const auto limit = gpu.power_limit_enforced_w ? gpu.power_limit_enforced_w : gpu.power_limit_w;
        if (!limit) return 0;
        sum += *limit;
    }
    return sum;
}

int gpus_of_host(const Plan& plan, int host) {
    return static_cast<int>(std::ranges::count_if(
        plan.ranks, [&](const RankPlan& rank) { return rank.host == host && rank.gpu >= 0; }));
}

// Returns how many ranks of the host before this one have a GPU.
int gpus_before(const Plan& plan, int world_rank) {
    const int host = plan.ranks[static_cast<std::size_t>(world_rank)].host;
    return static_cast<int>(
        std::count_if(plan.ranks.begin(), plan.ranks.begin() + world_rank,
                      [&](const RankPlan& rank) { return rank.host == host && rank.gpu >= 0; }));
}

}  // namespace

PowerGuard::PowerGuard(const Communicator& world, const PreparedJob& job, NodeMonitor* monitor,
                       const std::vector<GpuSettings>& clocks) {
    const PowerRequest power = power_request(job.spec);
    if (!power.limits_supply() && power.ramp_ms == 0) return;
    const RankPlan& mine = job.plan.ranks[static_cast<std::size_t>(world.rank())];
    duty_ = std::make_unique<GpuDuty>(world, std::chrono::milliseconds(power.ramp_ms),
                                      gpus_before(job.plan, world.rank()), gpus_of_host(job.plan, mine.host));
    if (!power.limits_supply()) return;
    budget_w_ = power.gpu_budget_w();
    samples_ = monitor->watch();
    if (samples_ && !clocks.empty()) clocks_ = std::make_unique<ClockGuard>(budget_w_, clocks);
    noted_mhz_ = clocks_ ? clocks_->clock_mhz() : 0;
    // No rank begins before the guard of its host knows what its GPUs draw without work.
    const auto warnings = all_agree(world, [&] { return samples_ ? begin() : std::string(); });
    if (world.rank() == 0)
        for (const std::string& warning : warnings)
            if (!warning.empty()) spdlog::warn("{}", warning);
    if (control_) thread_ = std::thread([this] { watch(); });
}

// Returns a warning; empty: the guard can watch.
std::string PowerGuard::begin() {
    const NodeGpus node = probe_gpus();
    if (node.gpus.empty())
        return fmt::format("power.supply_w: {} has no GPU to watch{}", host_name(),
                           node.problem.empty() ? "" : ": " + node.problem);
    control_ = std::make_unique<PowerControl>(budget_w_, most_of(node), GpuDuty::most_rest);
    duty_->set_rest(control_->rest());
    samples_->await_first(kProbeDeadline);
    return "";
}

PowerGuard::~PowerGuard() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
    if (rested_s_ > 0)
        fmt::print("power: the GPUs of {} rested {:.1f} % of the time to stay within {:.4g} W{}\n",
                   host_name(), 100 * rested_s_ / watched_s_, budget_w_,
                   worst_w_ > 0 ? fmt::format("; most in a second: {:.4g} W", worst_w_) : "");
    if (clocks_ && clocks_->changes() > 0)
        fmt::print(
            "power: the clocks of the GPUs of {} were changed {} times; the lowest limit was {:.0f} MHz\n",
            host_name(), clocks_->changes(), clocks_->lowest_mhz());
}

void PowerGuard::watch() {
    for (; !ends_; std::this_thread::sleep_for(kPatrolEvery)) look(samples_->latest());
}

void PowerGuard::look(const NodeSample& sample) {
    if (!sample.gpus.problem.empty()) {
        if (!blind_)
            spdlog::warn("power: {}: {}; the GPUs go on resting {:.0f} % of the time", host_name(),
                         sample.gpus.problem, 100 * duty_->rest());
        blind_ = true;
        return;
    }
    if (sample.time_s <= seen_s_) return;
    const double passed = seen_s_ > 0 ? sample.time_s - seen_s_ : 0;
    seen_s_ = sample.time_s;
    const std::optional<PowerReading> reading = meter_.read(sample);
    if (!reading) return;
    if (first_s_ == 0) first_s_ = sample.time_s;
    watched_s_ += passed;
    rested_s_ += passed * duty_->rest();
    duty_->set_rest(control_->update(reading->time_s, reading->watts, reading->window_s));
    if (sample.time_s - first_s_ >= 1) worst_w_ = std::max(worst_w_, control_->mean_w());
    if (clocks_) clocks_->look(sample, reading->watts, duty_->rest());
    note({sample.time_s, reading->watts, duty_->rest(), clocks_ ? clocks_->clock_mhz() : 0});
}

void PowerGuard::note(const PowerIntervention& now) {
    if (std::abs(now.rest - noted_rest_) < kNotable && now.clock_mhz == noted_mhz_) return;
    if (now.clock_mhz != noted_mhz_ && !std::exchange(said_clock_, true))
        spdlog::warn(
            "power: the GPUs of {} draw {:.0f} W of {:.0f} W: their clocks are lowered, now to {:.0f} MHz",
            host_name(), now.watts, budget_w_, now.clock_mhz);
    noted_rest_ = now.rest;
    noted_mhz_ = now.clock_mhz;
    {
        const std::lock_guard lock(mutex_);
        interventions_.push_back(now);
    }
    const auto clock = std::chrono::steady_clock::now();
    if (std::abs(now.rest - said_rest_) < kWorthAMessage || clock < said_at_ + kBetweenMessages) return;
    said_at_ = clock;
    said_rest_ = now.rest;
    spdlog::warn("power: the GPUs of {} draw {:.0f} W of {:.0f} W: they rest {:.0f} % of the time",
                 host_name(), now.watts, budget_w_, 100 * now.rest);
}

std::vector<PowerIntervention> PowerGuard::take_interventions() {
    const std::lock_guard lock(mutex_);
    return std::exchange(interventions_, {});
}

}  // namespace voltpile
