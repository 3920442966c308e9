// The state of the ranks' GPUs, as /metrics shows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"
#include "machine/gpu_snapshot.h"
#include "plan/plan.h"

namespace voltpile::llm {

// Nothing: the driver does not say.
struct GpuState {
    std::optional<double> memory_used_bytes;  // by all programs
    std::optional<double> memory_total_bytes;
    std::optional<double> power_w;
    std::optional<double> temperature_c;
};

// The GPU of a rank.
struct RankGpu {
    int rank = 0;
    std::string host;
    int gpu = 0;         // its number on the host
    std::string bus_id;  // "0000:1b:00.0"
    GpuState now{};
};

// Returns the GPUs that the ranks of a plan use, by rank. Collective over the world: every rank gets all.
std::vector<RankGpu> find_gpus(const Communicator& world, const Plan& plan);

// Sets the state of those of `gpus` that are on this host from what its driver says.
void set_state(std::vector<RankGpu>& gpus, const std::string& host, const NodeGpus& node);

// Returns Prometheus text; empty if nothing is known. labels: those of all metrics, without braces.
std::string gpu_metrics(const std::vector<RankGpu>& gpus, const std::string& labels);

}  // namespace voltpile::llm
