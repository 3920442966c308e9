#include "command/visible_gpus.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace voltpile::command {

std::vector<std::string> visible_gpus(const std::vector<RankPlan>& ranks) {
    std::vector<std::string> mine;
    if (const char* const list = std::getenv("CUDA_VISIBLE_DEVICES")) {
        std::istringstream stream(list);
        for (std::string entry; std::getline(stream, entry, ',');) mine.push_back(entry);
    }
    std::vector<std::string> gpus;
    for (const RankPlan& rank : ranks) {
        if (rank.device < 0) continue;
        const auto device = static_cast<std::size_t>(rank.device);
        std::string name = device < mine.size() ? mine[device] : std::to_string(device);
        if (std::ranges::find(gpus, name) == gpus.end()) gpus.push_back(std::move(name));
    }
    return gpus;
}

}  // namespace voltpile::command
