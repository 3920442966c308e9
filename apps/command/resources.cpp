#include "command/resources.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace voltpile::command {
namespace {

// CUDA's numbers, or the entries of this process's own CUDA_VISIBLE_DEVICES.
std::vector<std::string> names_of(const std::vector<int>& devices) {
    std::vector<std::string> mine;
    if (const char* const list = std::getenv("CUDA_VISIBLE_DEVICES")) {
        std::istringstream stream(list);
        for (std::string entry; std::getline(stream, entry, ',');) mine.push_back(entry);
    }
    std::vector<std::string> names;
    for (const int device : devices) {
        const auto index = static_cast<std::size_t>(device);
        std::string name = index < mine.size() ? mine[index] : std::to_string(device);
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    return names;
}

void add_pus(std::vector<int>& pus, const Host& host, const std::vector<int>& cores) {
    for (const int core : cores) {
        const int pu = host.cores[static_cast<std::size_t>(core)].pu;
        if (std::ranges::find(pus, pu) == pus.end()) pus.push_back(pu);
    }
}

}  // namespace

Resources resources_of_rank(const Plan& plan, int rank) {
    const RankPlan& mine = plan.ranks[static_cast<std::size_t>(rank)];
    const Host& host = plan.host_of(mine);
    Resources resources;
    add_pus(resources.pus, host, mine.cores);
    if (mine.device >= 0) resources.gpus = names_of({mine.device});
    resources.sets_gpus = mine.device >= 0 || !host.gpus.empty();
    if (mine.nic >= 0) resources.nic = host.nics[static_cast<std::size_t>(mine.nic)].name;
    return resources;
}

Resources resources_of_node(const Plan& plan, int rank, bool limited_threads) {
    const RankPlan& mine = plan.ranks[static_cast<std::size_t>(rank)];
    const Host& host = plan.host_of(mine);
    const RankPlace& place = plan.topology.ranks[static_cast<std::size_t>(rank)];
    Resources resources = resources_of_rank(plan, rank);
    std::vector<int> devices;
    bool whole_host = true;
    for (const RankPlan& each : plan.ranks) {
        if (each.host != mine.host) continue;
        if (each.node != mine.node) {
            whole_host = false;
            continue;
        }
        if (each.device >= 0) devices.push_back(each.device);
        add_pus(resources.pus, host, each.cores);
    }
    if (whole_host && !devices.empty()) {
        devices.clear();
        for (std::size_t device = 0; device < place.visible_gpus.size(); ++device)
            devices.push_back(static_cast<int>(device));
    }
    if (whole_host && !limited_threads) add_pus(resources.pus, host, place.allowed_cores);
    std::ranges::sort(resources.pus);
    resources.gpus = names_of(devices);
    return resources;
}

}  // namespace voltpile::command
