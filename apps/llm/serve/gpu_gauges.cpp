#include "llm/serve/gpu_gauges.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "device/device.h"
#include "llm/serve/event_text.h"

namespace voltpile::llm {

std::vector<RankGpu> find_gpus(const Communicator& world, const Plan& plan) {
    const RankPlan& own = plan.ranks[static_cast<std::size_t>(world.rank())];
    const std::vector<std::string> bus_ids =
        world.all_gather(own.device >= 0 ? plain_bus_id(device_info(own.device).pci_bus_id) : "");
    std::vector<RankGpu> gpus;
    for (int rank = 0; rank < world.size(); ++rank) {
        const RankPlan& each = plan.ranks[static_cast<std::size_t>(rank)];
        const std::string& bus_id = bus_ids[static_cast<std::size_t>(rank)];
        if (!bus_id.empty()) gpus.push_back({rank, plan.host_of(each).name, each.gpu, bus_id});
    }
    return gpus;
}

void set_state(std::vector<RankGpu>& gpus, const std::string& host, const NodeGpus& node) {
    for (RankGpu& gpu : gpus) {
        if (gpu.host != host) continue;
        const GpuSnapshot* found = node.find(gpu.bus_id);
        gpu.now = found ? GpuState{found->memory_used_bytes, found->memory_total_bytes, found->power_w,
                                   found->temperature_c}
                        : GpuState{};
    }
}

std::string gpu_metrics(const std::vector<RankGpu>& gpus, const std::string& labels) {
    std::string out;
    const auto write = [&](const char* name, const char* help, std::optional<double> GpuState::*value) {
        bool begun = false;
        for (const RankGpu& gpu : gpus) {
            const std::optional<double> now = gpu.now.*value;
            if (!now) continue;
            if (!std::exchange(begun, true))
                fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
            fmt::format_to(std::back_inserter(out), "{}{{{},rank=\"{}\",host={},gpu=\"{}\"}} {}\n", name,
                           labels, gpu.rank, json_text(gpu.host), gpu.gpu, *now);
        }
    };
    write("voltpile:gpu_memory_used_bytes", "Memory in use on a rank's GPU, by all programs.",
          &GpuState::memory_used_bytes);
    write("voltpile:gpu_memory_total_bytes", "Memory of a rank's GPU.", &GpuState::memory_total_bytes);
    write("voltpile:gpu_power_watts", "Power that a rank's GPU draws.", &GpuState::power_w);
    write("voltpile:gpu_temperature_celsius", "Temperature of a rank's GPU.", &GpuState::temperature_c);
    return out;
}

}  // namespace voltpile::llm
