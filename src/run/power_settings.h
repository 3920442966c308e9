// Sets the power limits and clocks that a job's [power] asks for on every node, and restores them at its end.
#pragma once

#include <optional>
#include <vector>

#include "machine/settings_record.h"
#include "run/runner.h"

namespace voltpile {

class PowerSettings {
  public:
    // Collective: every rank calls. The first rank of each host restores what a killed run has left there and
    // sets all GPUs that the driver shows. Rank 0 says what it did, and once for each node what an
    // administrator must run where it is not permitted; the job then goes on without. Throws AgreedError for
    // values that a GPU does not allow.
    PowerSettings(const Communicator& world, const PreparedJob& job);
    ~PowerSettings();  // restores
    PowerSettings(const PowerSettings&) = delete;
    PowerSettings& operator=(const PowerSettings&) = delete;

    // The GPUs of this host whose clocks the power guard may lower, with the highest of each; on the first
    // rank of each host, if power.hold_by asks for it and the driver lets this user. Restored with the rest.
    const std::vector<GpuSettings>& clocks() const { return clocks_; }

  private:
    std::string prepare_host(const JobSpec& spec);

    std::optional<SettingsRecord> record_;
    std::vector<GpuSettings> restore_, clocks_;  // on this host
};

}  // namespace voltpile
