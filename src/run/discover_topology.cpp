#include "run/discover_topology.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/build_info.h"
#include "base/cache_folder.h"
#include "base/cpu_level.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/physical_memory.h"
#include "comm/mpi/transport.h"
#include "comm/network.h"
#include "device/device.h"
#include "machine/gpu_links.h"
#include "machine/probe.h"
#include "plan/calibration.h"
#include "plan/team.h"
#include "run/agreement.h"
#include "run/parent_launcher.h"
#include "run/pci_places.h"

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
    json sockets = json::array();  // of each NUMA node
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_NUMANODE, node))) {
        while (sockets.size() <= node->os_index) sockets.push_back(sockets.size());
        hwloc_obj_t socket = nullptr;
        while ((socket = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PACKAGE, socket)))
            if (hwloc_bitmap_isset(socket->nodeset, node->os_index))
                sockets[node->os_index] = socket->logical_index;
    }
    hwloc_obj_t machine = hwloc_get_root_obj(raw);
    const hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0);
    const char* model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
    return {{"cpu", model ? model : "unknown processor"},
            {"ghz", processor_ghz()},
            {"simd", register_bits(cpu_level())},
            // hwloc may not count memory that was added after the start.
            {"memory", std::max<std::uint64_t>(machine->total_memory, physical_memory())},
            {"sockets", sockets},
            {"cores", cores}};
}

json to_json(const PcieLink& link) {
    return {link.generation, link.lanes};
}

json to_json(const PciPath& path) {
    json switches = json::array();
    for (const PciSwitch& each : path.switches) switches.push_back({each.name, to_json(each.uplink)});
    return {path.root,
            switches,
            path.place.bus_id,
            path.place.numa_node,
            to_json(path.place.link),
            to_json(path.place.slot)};
}

PcieLink to_link(const json& text) {
    return {text[0], text[1]};
}

PciPath to_path(const json& text) {
    PciPath path;
    path.root = text[0];
    for (const json& each : text[1]) path.switches.push_back({each[0], to_link(each[1])});
    path.place = {text[2], -1, text[3], to_link(text[4]), to_link(text[5])};
    return path;
}

json describe_nics() {
    json nics = json::array();
    for (const NicPath& each : pci_nics())
        nics.push_back({each.nic.name, each.nic.rdma, each.nic.gbit_per_s, to_json(each.path)});
    return nics;
}

// info: what CUDA says of the GPU. gpu: what its driver says; nullptr: nothing.
json describe_gpu(const DeviceInfo& info, const GpuSnapshot* gpu) {
    const GpuLinks links = gpu ? gpu_links(*gpu) : GpuLinks{};
    return {info.pci_bus_id,
            info.name,
            info.compute_capability,
            info.multiprocessors,
            info.clock_ghz,
            info.memory_bytes,
            info.memory_gb_per_s,
            links.pcie_gb_per_s,
            links.nvlink_gb_per_s,
            links.nvlinks,
            to_json(pci_path(plain_bus_id(info.pci_bus_id))),
            gpu ? gpu->power_limit_enforced_w.value_or(0) : 0};
}

// Returns the GPUs that CUDA shows to this process.
json describe_gpus() {
    json gpus = json::array();
    const int count = device_count();
    const NodeGpus node = count > 0 ? probe_gpus() : NodeGpus{};
    for (int index = 0; index < count; ++index) {
        const DeviceInfo info = device_info(index);
        gpus.push_back(describe_gpu(info, node.find(plain_bus_id(info.pci_bus_id))));
    }
    return gpus;
}

// Returns the GPUs that the driver knows, for programs to which CUDA shows none.
json describe_gpus_of_driver() {
    json gpus = json::array();
    const NodeGpus node = probe_gpus();
    if (node.hung) spdlog::warn("{}; voltpile check says more", node.problem);
    for (const GpuSnapshot& gpu : node.gpus) {
        DeviceInfo info;
        info.name = gpu.name;
        info.pci_bus_id = gpu.bus_id;
        info.memory_bytes = static_cast<std::int64_t>(gpu.memory_total_bytes.value_or(0));
        gpus.push_back(describe_gpu(info, &gpu));
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
    gpu.memory_gb_per_s = text[6];
    gpu.pcie_gb_per_s = text[7];
    gpu.watts = text[11];
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

// Reads what was measured on this machine.
json describe_calibration(const std::string& cpu) {
    const KnownRates known = load_rates(default_cache_folder(), {host_name(), cpu}, build_info().version);
    json rates = json::array();
    for (const MeasuredRate& rate : known.rates) rates.push_back({rate.work, rate.processor, rate.per_s});
    return {{"origin", known.origin}, {"problem", known.problem}, {"rates", rates}};
}

json describe_host() {
    json host = describe_cpus();
    host["host"] = host_name();
    host["gpus"] = describe_gpus();
    host["calibration"] = describe_calibration(host["cpu"]);
    host["nics"] = describe_nics();
    host["transport"] = transport_text();
    host["network"] = fastest_network();
    return host;
}

// Merges what the ranks of one host report: the host has everything that any of them sees.
class HostView {
  public:
    void add(const json& rank) {
        ranks_.push_back(rank);
        for (const json& core : rank["cores"]) cores_.emplace(core[0], Core{core[1], core[2]});
        for (const json& gpu : rank["gpus"]) {
            gpus_.emplace(gpu[0], to_gpu(gpu));
            const std::string bus_id = plain_bus_id(gpu[0]);
            nvlinks_[bus_id] = {gpu[8].get<std::map<std::string, double>>(),
                                gpu[9].get<std::map<std::string, int>>()};
            paths_[bus_id] = to_path(gpu[10]);
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
        host.calibrated = first["calibration"]["origin"];
        host.calibration_problem = first["calibration"]["problem"];
        for (const json& rate : first["calibration"]["rates"])
            host.measured.push_back({rate[0], rate[1], rate[2]});
        for (const auto& [key, core] : cores_) host.cores.push_back(core);
        host.network_gbit_per_s = first["network"];
        host.socket_of_numa_node = first["sockets"].get<std::vector<int>>();
        for (const auto& [bus_id, gpu] : gpus_) {
            host.gpus.push_back(gpu);
            host.gpus.back().place = place_of(host, paths_.at(plain_bus_id(bus_id)));
        }
        for (const json& nic : first["nics"])
            host.nics.push_back({nic[0], nic[1], nic[2], place_of(host, to_path(nic[3]))});
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
    // Virtual machines do not say at which NUMA node a device is; with one node there is no doubt.
    static PciePlace place_of(Host& host, PciPath path) {
        if (path.place.numa_node < 0 && host.socket_of_numa_node.size() == 1) path.place.numa_node = 0;
        return add_place(host, path);
    }

    template <class Map>
    static int index_of(const Map& map, const typename Map::key_type& key) {
        return static_cast<int>(std::distance(map.begin(), map.find(key)));
    }

    void connect(Host& host) const {
        std::vector<std::vector<bool>> linked;
        for (const auto& [from, gpu] : gpus_) {
            auto& rates = host.nvlink_gb_per_s.emplace_back();
            auto& counts = host.nvlinks.emplace_back();
            auto& linked_row = linked.emplace_back();
            for (const auto& [to, other] : gpus_) {
                const bool self = from == to;
                rates.push_back(self ? 0 : between(from, to, &NvLinks::gb_per_s));
                counts.push_back(self ? 0 : between(from, to, &NvLinks::count));
                linked_row.push_back(rates.back() > 0);
            }
            host.nvswitch = host.nvswitch || nvlinks_.at(plain_bus_id(from)).count.contains(nvlink_switch);
        }
        const std::vector<int> islands = nvlink_islands(linked);
        for (std::size_t i = 0; i < islands.size(); ++i) host.gpus[i].nvlink_island = islands[i];
    }

    struct NvLinks {  // of a GPU, by the end of the links, as in GpuLinks
        std::map<std::string, double> gb_per_s;
        std::map<std::string, int> count;
    };

    // Returns the value between two GPUs: over links of their own, or through switches.
    template <class Value>
    Value between(const std::string& from, const std::string& to,
                  std::map<std::string, Value> NvLinks::*member) const {
        const auto value = [&](const std::string& gpu, const std::string& end) {
            const auto& links = nvlinks_.at(plain_bus_id(gpu)).*member;
            return links.contains(end) ? links.at(end) : Value{};
        };
        return std::max(value(from, plain_bus_id(to)),
                        std::min(value(from, nvlink_switch), value(to, nvlink_switch)));
    }

    std::vector<json> ranks_;
    std::map<int, Core> cores_;               // by the first hardware thread of the core
    std::map<std::string, Gpu> gpus_;         // by PCI bus id
    std::map<std::string, NvLinks> nvlinks_;  // by plain bus id
    std::map<std::string, PciPath> paths_;    // by plain bus id
};

}  // namespace

Host read_this_host() {
    json mine = describe_host();
    if (mine["gpus"].empty()) mine["gpus"] = describe_gpus_of_driver();
    HostView view;
    view.add(mine);
    return view.host();
}

Topology discover_topology(const Communicator& world) {
    all_agree(world, [] { return std::string(name(cpu_level())); });  // VOLTPILE_CPU_LEVEL may be wrong
    const json mine = describe_host();

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
