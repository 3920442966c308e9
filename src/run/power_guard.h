// Keeps the GPUs of each node within what [power] says its supply can deliver: they begin one after another,
// and rest for a share of the time while they would draw more.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "machine/power_control.h"
#include "machine/power_meter.h"
#include "run/clock_guard.h"
#include "run/node_monitor.h"
#include "run/runner.h"
#include "work/gpu_duty.h"

namespace voltpile {

// The guard changed how much the GPUs of a node rest, or their clocks.
struct PowerIntervention {
    double time_s = 0;     // since 1970-01-01 00:00 UTC
    double watts = 0;      // what the GPUs drew then
    double rest = 0;       // share of the time, from then on
    double clock_mhz = 0;  // the highest clock, from then on; 0: as it was
};

class PowerGuard {
  public:
    // Collective: every rank calls, before the job's work begins. Does nothing if [power] asks for neither.
    // The first rank of each host watches the GPUs that its driver shows, on a thread. monitor: outlives
    // this; samples ten times a second (start_monitor) if [power] limits the supply, else it is not used.
    // clocks: of this host, that it may lower (PowerSettings, which outlives this).
    PowerGuard(const Communicator& world, const PreparedJob& job, NodeMonitor* monitor,
               const std::vector<GpuSettings>& clocks);
    ~PowerGuard();  // says how much the GPUs of this host rested
    PowerGuard(const PowerGuard&) = delete;
    PowerGuard& operator=(const PowerGuard&) = delete;

    // What the apps keep to; nullptr: nothing.
    const GpuDuty* duty() const { return duty_.get(); }

    // Whether this rank watches a budget.
    bool watches() const { return control_ != nullptr; }
    bool lowers_clocks() const { return clocks_ != nullptr; }

    // Returns the interventions on this host since the last call. Any thread.
    std::vector<PowerIntervention> take_interventions();

  private:
    std::string begin();
    void watch();
    void look(const NodeSample& sample);
    void note(const PowerIntervention& now);

    std::unique_ptr<GpuDuty> duty_;
    double budget_w_ = 0;

    // On the first rank of each host; of the thread while it runs.
    NodeWatch* samples_ = nullptr;
    std::unique_ptr<PowerControl> control_;
    std::unique_ptr<ClockGuard> clocks_;  // nullptr: the GPUs only rest
    PowerMeter meter_;
    double first_s_ = 0, seen_s_ = 0;
    bool blind_ = false;
    double noted_rest_ = 0, noted_mhz_ = 0;
    std::mutex mutex_;
    std::vector<PowerIntervention> interventions_;  // not yet taken
    double rested_s_ = 0, watched_s_ = 0, worst_w_ = 0;
    std::chrono::steady_clock::time_point said_at_;
    double said_rest_ = 0;
    bool said_clock_ = false;
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace voltpile
