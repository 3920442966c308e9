#include "run/discover_topology.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/cpu_level.h"
#include "base/error.h"
#include "base/host_name.h"
#include "comm/mpi/transport.h"
#include "comm/network.h"
#include "device/device.h"
#include "machine/gpu_links.h"
#include "machine/probe.h"
#include "plan/team.h"
#include "run/agreement.h"
#include "run/parent_launcher.h"

namespace voltpile {
namespace {

using nlohmann::json;

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
    // Prefer the nominal clock, which wide vectors on all cores come closer to than to the highest one. Else
    // the highest that the kernel knows, else the present one.
    for (const char* name : {"base_frequency", "cpuinfo_max_freq"}) {
        std::ifstream cpufreq(fmt::format("/sys/devices/system/cpu/cpu0/cpufreq/{}", name));
        double khz = 0;
        if (cpufreq >> khz) return khz / 1e6;
    }
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
        if (line.rfind("cpu MHz", 0) == 0) return std::atof(line.c_str() + line.find(':') + 1) / 1e3;
    return 2.0;
}

// Returns the number of CPUs that Slurm has given this job, 0 for no limit. Slurm may give a job fewer CPUs
// than the node has and yet leave its processes free to run on all of them (TaskPlugin=task/none). Then the
// job keeps to that number and lets the system choose which, because it cannot know which cores belong to
// other jobs.
int cpus_given_by_slurm() {
    const char* cpus = std::getenv("SLURM_CPUS_ON_NODE");
    return cpus && std::getenv("SLURM_JOB_ID") ? std::max(std::atoi(cpus), 1) : 0;
}

json unbound_cores(int count) {
    json cores = json::array();
    for (int core = 0; core < count; ++core) cores.push_back({core, -1, 0});
    return cores;
}

// Returns the physical cores that this rank may use, as [index of the first hardware thread, of the one to
// use, NUMA node]. Indices are the operating system's, which are the same for all ranks of a host, even if
// each sees only a part of it.
json describe_cpus() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw MachineError("hwloc_topology_init failed");
    const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw,
                                                                                      hwloc_topology_destroy);
    if (hwloc_topology_load(raw) != 0) throw MachineError("hwloc cannot read this machine's topology");

    const std::vector<int> pus = allowed_pus();
    json cores = json::array();
    hwloc_obj_t core = nullptr;
    while ((core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, core))) {
        for (int pu : pus) {
            if (!hwloc_bitmap_isset(core->cpuset, static_cast<unsigned>(pu))) continue;
            cores.push_back(
                {hwloc_bitmap_first(core->complete_cpuset), pu, hwloc_bitmap_first(core->nodeset)});
            break;
        }
    }
    if (const int given = cpus_given_by_slurm(); given > 0 && static_cast<std::size_t>(given) < pus.size()) {
        const std::size_t threads_per_core = pus.size() / std::max<std::size_t>(cores.size(), 1);
        cores =
            unbound_cores(std::max(given / static_cast<int>(std::max<std::size_t>(threads_per_core, 1)), 1));
    }
    hwloc_obj_t machine = hwloc_get_root_obj(raw);
    const hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0);
    const char* model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
    return {{"cpu", model ? model : "unknown processor"},
            {"ghz", processor_ghz()},
            {"simd", register_bits(cpu_level())},
            {"memory", machine->total_memory},
            {"cores", cores}};
}

// Returns the NUMA node of a PCI device as the kernel reports it, -1 if it does not.
int numa_node_of(const std::string& pci_bus_id) {
    std::ifstream file(fmt::format("/sys/bus/pci/devices/{}/numa_node", plain_bus_id(pci_bus_id)));
    int node = -1;
    file >> node;
    return file ? node : -1;
}

json describe_gpus() {
    json gpus = json::array();
    const int count = device_count();
    const NodeGpus node = count > 0 ? probe_gpus() : NodeGpus{};
    for (int index = 0; index < count; ++index) {
        const DeviceInfo info = device_info(index);
        const GpuSnapshot* gpu = node.find(plain_bus_id(info.pci_bus_id));
        const GpuLinks links = gpu ? gpu_links(*gpu) : GpuLinks{};
        gpus.push_back({info.pci_bus_id, info.name, info.compute_capability, info.multiprocessors,
                        info.clock_ghz, info.memory_bytes, numa_node_of(info.pci_bus_id), links.pcie_gb_per_s,
                        links.nvlink_gb_per_s});
    }
    return gpus;
}

Gpu to_gpu(const json& text) {
    Gpu gpu;
    gpu.name = text[1];
    gpu.compute_capability = text[2];
    gpu.multiprocessors = text[3];
    gpu.clock_ghz = text[4];
    gpu.memory_bytes = text[5];
    gpu.numa_node = text[6];
    gpu.pcie_gb_per_s = text[7];
    set_throughput(gpu);
    return gpu;
}

// Returns the gigabits per second of the fastest interface to other hosts, as the kernel reports it.
double fastest_network() {
    double fastest = 0;
    for (const RdmaPort& port : active_rdma_ports()) fastest = std::max(fastest, port.gb_per_s);
    for (const NetworkInterface& each : network_interfaces())
        if (!each.is_virtual) fastest = std::max(fastest, each.gb_per_s);
    return fastest;
}

// Merges what the ranks of one host report: the host has everything that any of them sees.
class HostView {
  public:
    void add(const json& rank) {
        ranks_.push_back(rank);
        for (const json& core : rank["cores"]) cores_.emplace(core[0], Core{core[1], core[2]});
        for (const json& gpu : rank["gpus"]) {
            gpus_.emplace(gpu[0], to_gpu(gpu));
            nvlinks_[plain_bus_id(gpu[0])] = gpu[8].get<std::map<std::string, double>>();
        }
    }

    Host host() const {
        Host host;
        const json& first = ranks_.front();
        host.name = first["host"];
        host.cpu_name = first["cpu"];
        host.cpu_ghz = first["ghz"];
        host.simd_bits = first["simd"];
        host.memory_bytes = first["memory"];
        host.transport = first["transport"];
        for (const auto& [key, core] : cores_) host.cores.push_back(core);
        host.network_gbit_per_s = first["network"];
        for (const auto& [bus_id, gpu] : gpus_) host.gpus.push_back(gpu);
        connect(host);
        return host;
    }

    RankPlace place(int host_index, int local_rank) const {
        const json& rank = ranks_[static_cast<std::size_t>(local_rank)];
        RankPlace place{host_index, local_rank, {}, {}};
        for (const json& core : rank["cores"])
            place.allowed_cores.push_back(index_of(cores_, core[0].get<int>()));
        for (const json& gpu : rank["gpus"])
            place.visible_gpus.push_back(index_of(gpus_, gpu[0].get<std::string>()));
        return place;
    }

  private:
    template <class Map>
    static int index_of(const Map& map, const typename Map::key_type& key) {
        return static_cast<int>(std::distance(map.begin(), map.find(key)));
    }

    void connect(Host& host) const {
        std::vector<std::vector<bool>> linked;
        for (const auto& [from, gpu] : gpus_) {
            auto& row = host.nvlink_gb_per_s.emplace_back();
            auto& linked_row = linked.emplace_back();
            for (const auto& [to, other] : gpus_) {
                row.push_back(from == to ? 0 : nvlink_rate(plain_bus_id(from), plain_bus_id(to)));
                linked_row.push_back(row.back() > 0);
            }
        }
        const std::vector<int> islands = nvlink_islands(linked);
        for (std::size_t i = 0; i < islands.size(); ++i) host.gpus[i].nvlink_island = islands[i];
    }

    double nvlink_rate(const std::string& from, const std::string& to) const {
        const auto rate = [&](const std::string& gpu, const std::string& end) {
            const auto& links = nvlinks_.at(gpu);
            return links.contains(end) ? links.at(end) : 0.0;
        };
        return std::max(rate(from, to), std::min(rate(from, nvlink_switch), rate(to, nvlink_switch)));
    }

    std::vector<json> ranks_;
    std::map<int, Core> cores_;        // by the first hardware thread of the core
    std::map<std::string, Gpu> gpus_;  // by PCI bus id
    std::map<std::string, std::map<std::string, double>> nvlinks_;  // GpuLinks::nvlink_gb_per_s by GPU
};

}  // namespace

Topology discover_topology(const Communicator& world) {
    all_agree(world, [] { return std::string(name(cpu_level())); });  // VOLTPILE_CPU_LEVEL may be wrong
    json mine = describe_cpus();
    mine["host"] = host_name();
    mine["gpus"] = describe_gpus();
    mine["transport"] = transport_text();
    mine["network"] = fastest_network();

    std::vector<HostView> views;
    std::map<std::string, int> host_index;
    std::vector<std::pair<int, int>> rank_at;  // (host, local rank)
    std::vector<int> ranks_on;
    for (const std::string& bytes : world.all_gather(mine.dump())) {
        const json rank = json::parse(bytes);
        const auto [it, is_new] = host_index.emplace(rank["host"], static_cast<int>(views.size()));
        if (is_new) {
            views.emplace_back();
            ranks_on.push_back(0);
        }
        const auto h = static_cast<std::size_t>(it->second);
        views[h].add(rank);
        rank_at.emplace_back(it->second, ranks_on[h]++);
    }

    Topology topology;
    for (const HostView& view : views) topology.hosts.push_back(view.host());
    for (const auto& [host, local_rank] : rank_at)
        topology.ranks.push_back(views[static_cast<std::size_t>(host)].place(host, local_rank));
    return topology;
}

}  // namespace voltpile
