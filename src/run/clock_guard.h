// Lowers the clocks of a node's GPUs while they would draw more than their budget, through NVML.
#pragma once

#include <future>
#include <vector>

#include "machine/clock_control.h"
#include "machine/gpu_settings.h"
#include "machine/node_sample.h"

namespace voltpile {

class ClockGuard {
  public:
    // highest: the GPUs that this process may set, with their highest clocks; at least one. The owner
    // restores them (PowerSettings).
    ClockGuard(double budget_w, std::vector<GpuSettings> highest);

    // Takes a reading and what the GPUs rest then. Setting clocks takes a process and a driver some time, so
    // that runs on a thread of its own. Warns once, and changes nothing more, if a GPU refuses; warns of
    // clocks that stay above the limit.
    void look(const NodeSample& sample, double watts, double rest);

    // The limit in force, of the first GPU.
    double clock_mhz() const { return clock_mhz_; }
    double lowest_mhz() const { return lowest_mhz_; }
    int changes() const { return changes_; }

  private:
    std::vector<GpuSettings> at_share(double share) const;
    void take_outcome(double time_s);
    void read_back(const NodeSample& sample);

    ClockControl control_;
    std::vector<GpuSettings> highest_, wanted_;
    std::future<std::vector<SettingsOutcome>> setting_;
    double clock_mhz_, lowest_mhz_;
    double set_at_s_ = 0;
    int changes_ = 0;
    bool refused_ = false, said_above_ = false;
};

}  // namespace voltpile
