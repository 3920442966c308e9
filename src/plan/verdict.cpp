#include "plan/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "plan/device_paths.h"

namespace voltpile {
namespace {

std::string list_text(const std::vector<std::string>& names) {
    if (names.size() < 2) return names.empty() ? "" : names.front();
    return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::string gpus_text(const std::vector<std::size_t>& gpus) {
    std::vector<std::string> names;
    for (const std::size_t gpu : gpus) names.push_back(fmt::format("{}", gpu));
    return (gpus.size() == 1 ? "GPU " : "GPUs ") + list_text(names);
}

bool whole_group(const Host& host, const std::vector<std::size_t>& group, const DevicePath& path) {
    for (const std::size_t a : group)
        for (const std::size_t b : group)
            if (a != b && gpu_path(host, a, b) != path) return false;
    return true;
}

// Covers all pairs with this path by groups in which every pair has it, the largest groups first found.
std::vector<std::vector<std::size_t>> groups_with(const Host& host, const DevicePath& path) {
    std::vector<std::vector<std::size_t>> groups;
    const auto covered = [&](std::size_t a, std::size_t b) {
        return std::ranges::any_of(groups, [&](const auto& group) {
            return std::ranges::find(group, a) != group.end() && std::ranges::find(group, b) != group.end();
        });
    };
    for (std::size_t a = 0; a < host.gpus.size(); ++a)
        for (std::size_t b = a + 1; b < host.gpus.size(); ++b) {
            if (gpu_path(host, a, b) != path || covered(a, b)) continue;
            std::vector<std::size_t> group{a, b};
            for (std::size_t c = 0; c < host.gpus.size(); ++c) {
                if (c == a || c == b) continue;
                std::vector<std::size_t> larger = group;
                larger.push_back(c);
                if (whole_group(host, larger, path)) group = std::move(larger);
            }
            std::ranges::sort(group);
            groups.push_back(std::move(group));
        }
    return groups;
}

void judge_pairs(const Host& host, MachineVerdict& verdict) {
    const auto before = [](const DevicePath& a, const DevicePath& b) {
        return a.kind != b.kind ? a.kind < b.kind : a.nvlinks > b.nvlinks;
    };
    std::vector<DevicePath> paths;
    std::map<PathKind, int> counts;
    for (std::size_t a = 0; a < host.gpus.size(); ++a)
        for (std::size_t b = a + 1; b < host.gpus.size(); ++b) {
            const DevicePath path = gpu_path(host, a, b);
            ++verdict.all_pairs;
            verdict.direct_pairs += path.direct();
            ++counts[path.kind];
            if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
        }
    std::ranges::sort(paths, before);
    for (const DevicePath& path : paths) {
        if (!path.direct()) continue;
        std::vector<std::string> names;
        for (const auto& group : groups_with(host, path)) names.push_back(gpus_text(group));
        verdict.pairs.push_back(fmt::format("{} talk directly over {}.",
                                            fmt::format("{}", fmt::join(names, "; ")), long_text(path)));
    }
    if (!paths.empty() &&
        std::ranges::all_of(paths, [](const DevicePath& path) { return path.kind == PathKind::Unknown; })) {
        verdict.pairs.emplace_back("The description does not say how the GPUs are connected.");
        return;
    }
    for (const DevicePath& path : paths)
        if (!path.direct())
            verdict.pairs.push_back(
                fmt::format("{} of {} pairs of GPUs have no direct path: their data goes through {}.",
                            counts[path.kind], verdict.all_pairs, long_text(path)));
}

void judge_network(const Host& host, MachineVerdict& verdict) {
    if (host.gpus.empty()) return;
    if (host.nics.empty()) {
        verdict.network.emplace_back("The machine has no network adapter.");
        return;
    }
    bool any_known = false;
    std::map<std::vector<std::size_t>, std::vector<std::size_t>> gpus_by_nics;
    for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu) {
        bool near = false;
        for (std::size_t nic = 0; nic < host.nics.size(); ++nic) {
            const DevicePath path = gpu_nic_path(host, gpu, nic);
            near = near || path.direct();
            any_known = any_known || path.kind != PathKind::Unknown;
        }
        if (near)
            gpus_by_nics[nearest_nics(host, gpu)].push_back(gpu);
        else
            verdict.without_nic.push_back(gpu);
    }
    if (!any_known) {
        verdict.without_nic.clear();
        verdict.network.emplace_back("The description does not say where the network adapters are.");
        return;
    }
    for (const auto& [nics, gpus] : gpus_by_nics) {
        std::vector<std::string> names;
        for (const std::size_t nic : nics) names.push_back(host.nics[nic].name);
        verdict.network.push_back(fmt::format("{} reach{} {} directly, over {}.", gpus_text(gpus),
                                              gpus.size() == 1 ? "es" : "", list_text(names),
                                              long_text(gpu_nic_path(host, gpus.front(), nics.front()))));
    }
    if (!verdict.without_nic.empty())
        verdict.network.push_back(
            fmt::format("{} {} no network adapter under {} root complex: what {} to other nodes goes through "
                        "the processors.",
                        gpus_text(verdict.without_nic), verdict.without_nic.size() == 1 ? "has" : "have",
                        verdict.without_nic.size() == 1 ? "its" : "their",
                        verdict.without_nic.size() == 1 ? "it sends" : "they send"));
}

void judge_cores(const Host& host, MachineVerdict& verdict) {
    std::map<std::vector<int>, std::vector<std::size_t>> gpus_by_cores;
    for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu)
        if (host.gpus[gpu].place.numa_node >= 0) gpus_by_cores[cores_of_gpu(host, gpu)].push_back(gpu);
    for (const auto& [cores, gpus] : gpus_by_cores)
        verdict.cores.push_back(fmt::format("{} belong{} to cores {}.", gpus_text(gpus),
                                            gpus.size() == 1 ? "s" : "", ranges_text(cores)));
}

void judge_link(const std::string& name, const PciePlace& place, MachineVerdict& verdict) {
    const bool narrow = place.link.lanes > 0 && place.link.lanes < place.slot.lanes;
    if (!narrow) return;
    const double lost = 1 - static_cast<double>(place.link.lanes) / place.slot.lanes;
    verdict.narrow.push_back(
        fmt::format("{} uses {} of the {} lanes of its slot and loses {:.0f} % of the bandwidth.", name,
                    place.link.lanes, place.slot.lanes, 100 * lost));
}

}  // namespace

std::vector<std::string> MachineVerdict::sentences() const {
    std::vector<std::string> all;
    for (const auto* part : {&pairs, &network, &cores, &narrow})
        all.insert(all.end(), part->begin(), part->end());
    return all;
}

MachineVerdict judge(const Host& host) {
    MachineVerdict verdict;
    judge_pairs(host, verdict);
    judge_network(host, verdict);
    judge_cores(host, verdict);
    for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu)
        judge_link(fmt::format("GPU {}", gpu), host.gpus[gpu].place, verdict);
    for (const Nic& nic : host.nics) judge_link(nic.name, nic.place, verdict);
    return verdict;
}

std::vector<int> cores_of_gpu(const Host& host, std::size_t gpu) {
    const int numa_node = host.gpus[gpu].place.numa_node;
    std::vector<int> node, socket, all;
    for (std::size_t c = 0; c < host.cores.size(); ++c) {
        const int core = static_cast<int>(c), at = host.cores[c].numa_node;
        all.push_back(core);
        if (at == numa_node) node.push_back(core);
        if (host.socket(at) == host.socket(numa_node)) socket.push_back(core);
    }
    return !node.empty() ? node : !socket.empty() ? socket : all;
}

std::string ranges_text(const std::vector<int>& numbers) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i;
        while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
        parts.push_back(end == i ? fmt::format("{}", numbers[i])
                                 : fmt::format("{}-{}", numbers[i], numbers[end]));
        i = end + 1;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace voltpile
