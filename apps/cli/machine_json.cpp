#include "cli/machine_json.h"

#include <nlohmann/json.hpp>

#include "plan/device_paths.h"
#include "plan/verdict.h"

namespace voltpile::cli {
namespace {

using nlohmann::json;

json place_json(const Host& host, const PciePlace& place) {
    json out{{"numaNode", place.numa_node},
             {"socket", host.socket(place.numa_node)},
             {"pcieGeneration", place.link.generation},
             {"pcieLanes", place.link.lanes},
             {"slotLanes", place.slot.lanes}};
    if (!place.bus_id.empty()) out["busId"] = place.bus_id;
    if (place.node >= 0) out["under"] = host.pcie[static_cast<std::size_t>(place.node)].name;
    return out;
}

json node_json(const Host& host, const PcieNode& node) {
    json out{{"name", node.name}, {"kind", node.is_root() ? "root" : "switch"}, {"numaNode", node.numa_node}};
    if (!node.is_root()) {
        out["under"] = host.pcie[static_cast<std::size_t>(node.parent)].name;
        out["pcieGeneration"] = node.uplink.generation;
        out["pcieLanes"] = node.uplink.lanes;
    }
    return out;
}

json gpu_json(const Host& host, std::size_t g) {
    const Gpu& gpu = host.gpus[g];
    json to_gpus = json::array(), to_nics = json::array();
    for (std::size_t other = 0; other < host.gpus.size(); ++other)
        to_gpus.push_back(other == g ? "-" : short_text(gpu_path(host, g, other)));
    for (std::size_t nic = 0; nic < host.nics.size(); ++nic)
        to_nics.push_back(short_text(gpu_nic_path(host, g, nic)));
    return {{"name", gpu.name},
            {"memoryBytes", gpu.memory_bytes},
            {"memoryGigabytesPerSecond", gpu.memory_gb_per_s},
            {"computeCapability", gpu.compute_capability},
            {"fp64FlopsPerSecond", 2e9 * gpu.multiprocessors * gpu.fp64_per_clock * gpu.clock_ghz},
            {"place", place_json(host, gpu.place)},
            {"cores", cores_of_gpu(host, g)},
            {"toGpus", to_gpus},
            {"toNics", to_nics}};
}

}  // namespace

json machine_json(const Host& host) {
    json nodes = json::array(), gpus = json::array(), nics = json::array();
    for (const PcieNode& node : host.pcie) nodes.push_back(node_json(host, node));
    for (std::size_t g = 0; g < host.gpus.size(); ++g) gpus.push_back(gpu_json(host, g));
    for (const Nic& nic : host.nics)
        nics.push_back({{"name", nic.name},
                        {"rdma", nic.rdma},
                        {"gigabitsPerSecond", nic.gbit_per_s},
                        {"place", place_json(host, nic.place)}});
    const MachineVerdict verdict = judge(host);
    return {{"name", host.name},
            {"cpu", host.cpu_name},
            {"cores", host.cores.size()},
            {"memoryBytes", host.memory_bytes},
            {"pcie", nodes},
            {"gpus", gpus},
            {"nics", nics},
            {"verdict",
             {{"sentences", verdict.sentences()},
              {"directPairs", verdict.direct_pairs},
              {"allPairs", verdict.all_pairs},
              {"gpusWithoutNic", verdict.without_nic},
              {"narrowLinks", verdict.narrow}}}};
}

}  // namespace voltpile::cli
