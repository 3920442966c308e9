#include "plan/cluster_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "plan/cluster_table.h"
#include "plan/team.h"

namespace voltpile {
namespace {

constexpr int kMostMultiprocessors = 4096;
constexpr int kMostComputeCapability = 999;  // 70: 7.0
constexpr int kMostNics = 64;
constexpr int kMostNvLinks = 32;
constexpr int kMostPcieNodes = 256;
constexpr double kLeastGbitPerS = 1e-3, kMostGbitPerS = 1e5;
// Of all GPUs that exist, for use with those up to the last one.
constexpr std::array kComputeCapabilities{10, 11, 12, 13, 20, 21, 30, 32, 35, 37,  50,  52,  53,  60,  61,
                                          62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121};

class DeviceReader {
  public:
    DeviceReader(const ClusterTable& table, Host& host) : table_(table), host_(host) {}

    void read() {
        for (const ClusterTable& root : table_.tables("root")) add_root(root);
        for (const ClusterTable& each : table_.tables("switch")) add_switch(each);
        host_.nvswitch = table_.flag_or("nvswitch", false);
        for (const ClusterTable& gpus : table_.tables("gpu")) add_gpus(gpus);
        for (const ClusterTable& nics : table_.tables("nic")) add_nics(nics);
        for (const ClusterTable& link : table_.tables("nvlink")) add_nvlink(link);
        check_nvlinks();
        find_islands();
    }

  private:
    void add_node(const ClusterTable& table, PcieNode node) {
        if (std::ssize(host_.pcie) == kMostPcieNodes)
            table.fail("name",
                       fmt::format("a host can have at most {} root complexes and switches", kMostPcieNodes));
        if (!index_.emplace(node.name, static_cast<int>(host_.pcie.size())).second)
            table.fail("name",
                       fmt::format("name = \"{}\": the host has another device of this name", node.name));
        host_.pcie.push_back(std::move(node));
    }

    void add_root(const ClusterTable& root) {
        root.allow({"name", "socket", "numa_node"});
        const int nodes = static_cast<int>(host_.socket_of_numa_node.size());
        const int socket = root.integer("socket", 0, host_.socket_of_numa_node.back());
        const int first = static_cast<int>(std::ranges::find(host_.socket_of_numa_node, socket) -
                                           host_.socket_of_numa_node.begin());
        PcieNode node;
        node.name = root.name("name");
        node.numa_node = root.integer_or("numa_node", 0, nodes - 1, first);
        if (host_.socket(node.numa_node) != socket)
            root.fail("numa_node", fmt::format("numa_node = {}: belongs to socket {}, not to socket {}",
                                               node.numa_node, host_.socket(node.numa_node), socket));
        add_node(root, std::move(node));
    }

    int node_of(const ClusterTable& table, const std::string& name) const {
        const auto it = index_.find(name);
        if (it == index_.end())
            table.fail("under",
                       fmt::format("under \"{}\": the host has no root complex or switch of this name "
                                   "above this line",
                                   name));
        return it->second;
    }

    void add_switch(const ClusterTable& each) {
        each.allow({"name", "under", "pcie"});
        PcieNode node;
        node.name = each.name("name");
        node.parent = node_of(each, each.phrase("under"));
        node.numa_node = host_.pcie[static_cast<std::size_t>(node.parent)].numa_node;
        node.uplink = each.pcie("pcie");
        add_node(each, std::move(node));
    }

    // Returns where `count` devices are plugged in.
    std::vector<PciePlace> places(const ClusterTable& table, int count) const {
        PciePlace place;
        place.link = table.pcie("pcie");
        place.slot = table.has("slot") ? table.pcie("slot") : place.link;
        if (place.link.lanes > place.slot.lanes)
            table.fail("slot",
                       fmt::format("a link of {} lanes in a slot of {}", place.link.lanes, place.slot.lanes));
        if (place.link.generation > place.slot.generation)
            table.fail("slot", fmt::format("a link of PCIe {}.0 in a slot of PCIe {}.0",
                                           place.link.generation, place.slot.generation));
        std::vector<PciePlace> out(static_cast<std::size_t>(count), place);
        const std::vector<std::string> names = table.texts("under");
        if (names.empty()) {
            if (!host_.pcie.empty())
                table.fail("under",
                           "under is missing: the host has root complexes, so each device must name "
                           "the root complex or switch above it");
            return out;
        }
        if (names.size() != 1 && std::ssize(names) != count)
            table.fail("under", fmt::format("under names {} places for {} devices", names.size(), count));
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i].node = node_of(table, names[names.size() == 1 ? 0 : i]);
            out[i].numa_node = host_.pcie[static_cast<std::size_t>(out[i].node)].numa_node;
        }
        return out;
    }

    void add_gpus(const ClusterTable& gpus) {
        gpus.allow({"count", "name", "compute_capability", "multiprocessors", "clock_ghz", "memory_gb",
                    "memory_gb_per_s", "watts", "nvlink_island", "nvlinks", "under", "pcie", "slot"});
        Gpu gpu;
        gpu.name = gpus.phrase("name");
        gpu.compute_capability =
            gpus.integer("compute_capability", kComputeCapabilities.front(), kMostComputeCapability);
        if (gpu.compute_capability < kComputeCapabilities.back() &&
            std::ranges::find(kComputeCapabilities, gpu.compute_capability) == kComputeCapabilities.end())
            gpus.fail("compute_capability",
                      fmt::format("compute_capability = {}: there is no GPU of compute capability {}.{}",
                                  gpu.compute_capability, gpu.compute_capability / 10,
                                  gpu.compute_capability % 10));
        gpu.multiprocessors = gpus.integer("multiprocessors", 1, kMostMultiprocessors);
        gpu.clock_ghz = gpus.number("clock_ghz", kLeastGhz, kMostGhz);
        gpu.memory_bytes = gpus.memory_bytes();
        gpu.memory_gb_per_s = gpus.number_or("memory_gb_per_s", kLeastGbPerS, kMostGbPerS, 0);
        gpu.watts = gpus.number_or("watts", kLeastWatts, kMostWatts, 0);
        set_throughput(gpu);
        const int count = gpus.integer("count", 1, kMostGpusPerHost);
        if (std::ssize(host_.gpus) + count > kMostGpusPerHost)
            gpus.fail("count", fmt::format("count = {}: a host can have at most {} GPUs in all", count,
                                           kMostGpusPerHost));
        const std::size_t first = host_.gpus.size();
        for (PciePlace& place : places(gpus, count)) {
            gpu.pcie_gb_per_s = gb_per_s(place.link);
            gpu.place = std::move(place);
            host_.gpus.push_back(gpu);
        }
        grow(host_.gpus.size());
        const int island = gpus.integer_or("nvlink_island", 1, kMostGpusPerHost, 1);
        if (island > count)
            gpus.fail("nvlink_island",
                      fmt::format("nvlink_island = {}: there are only {} of these GPUs", island, count));
        if (count % island != 0)
            gpus.fail("nvlink_island",
                      fmt::format("nvlink_island = {}: does not divide the {} GPUs", island, count));
        if (island == 1 && gpus.has("nvlinks"))
            gpus.fail("nvlinks",
                      "nvlinks needs nvlink_island: the number of GPUs that NVLink connects with "
                      "each other");
        if (island > 1) connect_islands(gpus, first, static_cast<std::size_t>(island));
    }

    void grow(std::size_t gpus) {
        host_.nvlinks.resize(gpus);
        host_.nvlink_gb_per_s.resize(gpus);
        for (auto& row : host_.nvlinks) row.resize(gpus);
        for (auto& row : host_.nvlink_gb_per_s) row.resize(gpus);
    }

    // nvlinks counts the links between two GPUs, or those of a GPU into the NVSwitches.
    void connect_islands(const ClusterTable& gpus, std::size_t first, std::size_t island) {
        const int most = nvlink_limits(host_.gpus[first].compute_capability).links;
        const int share = host_.nvswitch ? most : most / static_cast<int>(island - 1);
        const int links = gpus.integer_or("nvlinks", 1, kMostNvLinks, std::max(share, 1));
        for (std::size_t a = first; a < host_.gpus.size(); ++a)
            for (std::size_t b = first; b < host_.gpus.size(); ++b)
                if (a != b && (a - first) / island == (b - first) / island) link(a, b, links);
    }

    void link(std::size_t a, std::size_t b, int links) {
        const double each = nvlink_limits(host_.gpus[a].compute_capability).gb_per_s;
        host_.nvlinks[a][b] = links;
        host_.nvlink_gb_per_s[a][b] = links * (each > 0 ? each : 25);
    }

    void add_nvlink(const ClusterTable& table) {
        table.allow({"between", "links"});
        const int gpus = static_cast<int>(host_.gpus.size());
        const std::vector<int> between = table.integers("between", kMostGpusPerHost);
        for (const int gpu : between)
            if (gpu >= gpus)
                table.fail("between", fmt::format("between names GPU {}, but the host has {} GPUs: 0 to {}",
                                                  gpu, gpus, gpus - 1));
        if (between.size() != 2 || between[0] == between[1])
            table.fail("between", "between must name two different GPUs");
        const auto a = static_cast<std::size_t>(between[0]), b = static_cast<std::size_t>(between[1]);
        if (host_.nvlinks[a][b] > 0)
            table.fail("between", fmt::format("GPUs {} and {} are connected already", a, b));
        if (host_.gpus[a].compute_capability != host_.gpus[b].compute_capability)
            table.fail("between",
                       fmt::format("GPUs {} and {} are of different generations, which NVLink cannot "
                                   "connect",
                                   a, b));
        const int links = table.integer("links", 1, kMostNvLinks);
        link(a, b, links);
        link(b, a, links);
    }

    void check_nvlinks() const {
        bool any = false;
        for (std::size_t g = 0; g < host_.nvlinks.size(); ++g) {
            int sum = 0, largest = 0;
            for (const int links : host_.nvlinks[g]) {
                sum += links;
                largest = std::max(largest, links);
            }
            const int used = host_.nvswitch ? largest : sum;
            const int most = nvlink_limits(host_.gpus[g].compute_capability).links;
            if (most >= 0 && used > most)
                table_.fail("gpu", fmt::format("GPU {} has {} NVLinks, but a {} has {}", g, used,
                                               host_.gpus[g].name, most > 0 ? std::to_string(most) : "none"));
            any = any || used > 0;
        }
        if (host_.nvswitch && !any)
            table_.fail("nvswitch", "nvswitch = true, but NVLink connects no GPUs: nvlink_island says which");
    }

    void find_islands() {
        std::vector<std::vector<bool>> linked;
        for (const auto& row : host_.nvlinks) {
            auto& out = linked.emplace_back();
            for (const int links : row) out.push_back(links > 0);
        }
        const std::vector<int> islands = nvlink_islands(linked);
        for (std::size_t g = 0; g < islands.size(); ++g) host_.gpus[g].nvlink_island = islands[g];
    }

    void add_nics(const ClusterTable& table) {
        table.allow({"count", "name", "rdma", "gbit_per_s", "under", "pcie", "slot"});
        const int count = table.integer_or("count", 1, kMostNics, 1);
        if (std::ssize(host_.nics) + count > kMostNics)
            table.fail("count", fmt::format("count = {}: a host can have at most {} network adapters in all",
                                            count, kMostNics));
        Nic nic;
        const std::string name = table.name("name");
        nic.rdma = table.flag_or("rdma", true);
        nic.gbit_per_s = table.number("gbit_per_s", kLeastGbitPerS, kMostGbitPerS);
        int number = 0;
        for (PciePlace& place : places(table, count)) {
            nic.name = count == 1 ? name : fmt::format("{}{}", name, number++);
            if (index_.contains(nic.name) ||
                std::ranges::find(host_.nics, nic.name, &Nic::name) != host_.nics.end())
                table.fail("name",
                           fmt::format("name = \"{}\": the host has another device of this name", nic.name));
            nic.place = std::move(place);
            host_.nics.push_back(nic);
            host_.network_gbit_per_s = std::max(host_.network_gbit_per_s, nic.gbit_per_s);
        }
    }

    const ClusterTable& table_;
    Host& host_;
    std::map<std::string, int> index_;  // of host_.pcie, by name
};

}  // namespace

NvLinkLimits nvlink_limits(int compute_capability) {
    switch (compute_capability) {
        case 60:
            return {4, 20};
        case 70:
            return {6, 25};
        case 75:
            return {2, 25};
        case 80:
            return {12, 25};
        case 86:
            return {4, 14.0625};
        case 90:
            return {18, 25};
        case 100:
            return {18, 50};
        case 61:  // GeForce, RTX and Jetson of these generations have none
        case 62:
        case 72:
        case 87:
        case 89:
        case 120:
        case 121:
            return {};
        default:
            return {compute_capability < 60 ? 0 : -1, 0};
    }
}

void read_devices(const ClusterTable& table, Host& host) {
    DeviceReader(table, host).read();
}

}  // namespace voltpile
