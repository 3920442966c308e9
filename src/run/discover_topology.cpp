#include "run/discover_topology.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "device/device.h"
#include "run/launcher.h"

namespace voltpile {
namespace {

using nlohmann::json;

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::vector<int> affinity_of(int pid) {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> pus;
    if (sched_getaffinity(pid, sizeof set, &set) != 0) return pus;
    for (int pu = 0; pu < CPU_SETSIZE; ++pu)
        if (CPU_ISSET(pu, &set)) pus.push_back(pu);
    return pus;
}

std::vector<int> allowed_pus() {
    const auto launcher = find_launcher();
    const bool asked_for = std::getenv("OMPI_MCA_hwloc_base_binding_policy") != nullptr;
    if (launcher && !asked_for)
        if (auto pus = affinity_of(launcher->pid); !pus.empty()) return pus;
    return affinity_of(0);
}

double processor_ghz() {
    // The highest clock the kernel knows of, else the present one.
    std::ifstream cpufreq("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    double khz = 0;
    if (cpufreq >> khz) return khz / 1e6;
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
        if (line.rfind("cpu MHz", 0) == 0) return std::atof(line.c_str() + line.find(':') + 1) / 1e3;
    return 2.0;
}

int simd_bits() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return 512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 256;
#endif
    return 128;
}

// One core for each physical core: its first hardware thread that this rank may use.
json describe_cpus() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw MachineError("hwloc_topology_init failed");
    const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw,
                                                                                      hwloc_topology_destroy);
    if (hwloc_topology_load(raw) != 0) throw MachineError("hwloc cannot read this machine's topology");

    const std::vector<int> pus = allowed_pus();
    const std::set<int> allowed(pus.begin(), pus.end());
    json cores = json::array(), mine = json::array();
    hwloc_obj_t core = nullptr;
    while ((core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, core))) {
        int pu = -1;
        for (unsigned bit = hwloc_bitmap_first(core->cpuset); bit != static_cast<unsigned>(-1);
             bit = static_cast<unsigned>(hwloc_bitmap_next(core->cpuset, static_cast<int>(bit)))) {
            if (pu < 0) pu = static_cast<int>(bit);
            if (allowed.count(static_cast<int>(bit))) {
                pu = static_cast<int>(bit);
                mine.push_back(cores.size());
                break;
            }
        }
        cores.push_back({pu, hwloc_bitmap_first(core->nodeset)});
    }
    hwloc_obj_t machine = hwloc_get_root_obj(raw);
    const hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0);
    const char* model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
    return {{"cpu", model ? model : "unknown processor"},
            {"ghz", processor_ghz()},
            {"simd", simd_bits()},
            {"memory", machine->total_memory},
            {"cores", cores},
            {"allowed", mine}};
}

// The NUMA node that a PCI device hangs on, from the kernel; -1 if it does not say.
int numa_node_of(std::string pci_bus_id) {
    std::transform(pci_bus_id.begin(), pci_bus_id.end(), pci_bus_id.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::ifstream file(fmt::format("/sys/bus/pci/devices/{}/numa_node", pci_bus_id));
    int node = -1;
    file >> node;
    return file ? node : -1;
}

json describe_gpus() {
    json gpus = json::array();
    for (int index = 0; index < device_count(); ++index) {
        const DeviceInfo info = device_info(index);
        gpus.push_back({info.name, info.compute_capability, info.multiprocessors, info.clock_ghz,
                        info.memory_bytes, numa_node_of(info.pci_bus_id)});
    }
    return gpus;
}

Host to_host(const std::string& name, const json& text) {
    Host host;
    host.name = name;
    host.cpu_name = text["cpu"];
    host.cpu_ghz = text["ghz"];
    host.simd_bits = text["simd"];
    host.memory_bytes = text["memory"];
    for (const json& core : text["cores"]) host.cores.push_back({core[0], core[1]});
    for (const json& each : text["gpus"]) {
        Gpu gpu;
        gpu.name = each[0];
        gpu.compute_capability = each[1];
        gpu.multiprocessors = each[2];
        gpu.clock_ghz = each[3];
        gpu.memory_bytes = each[4];
        gpu.numa_node = each[5];
        set_throughput(gpu);
        host.gpus.push_back(gpu);
    }
    return host;
}

}  // namespace

Topology discover_topology(const Communicator& world) {
    json mine = describe_cpus();
    mine["host"] = host_name();
    mine["gpus"] = describe_gpus();

    Topology topology;
    std::map<std::string, int> host_index;
    std::vector<int> ranks_on;
    for (const std::string& bytes : world.all_gather(mine.dump())) {
        const json text = json::parse(bytes);
        const std::string name = text["host"];
        const auto [it, is_new] = host_index.emplace(name, static_cast<int>(topology.hosts.size()));
        if (is_new) {
            topology.hosts.push_back(to_host(name, text));
            ranks_on.push_back(0);
        }
        const auto h = static_cast<std::size_t>(it->second);
        RankPlace place{it->second, ranks_on[h]++, {}};
        for (const json& core : text["allowed"]) {
            place.allowed_cores.push_back(core);
            // Which hardware thread of a core may be used can differ between ranks; the mask of one that may
            // use it counts.
            topology.hosts[h].cores[core.get<std::size_t>()].pu = text["cores"][core.get<std::size_t>()][0];
        }
        topology.ranks.push_back(place);
    }
    return topology;
}

}  // namespace voltpile
