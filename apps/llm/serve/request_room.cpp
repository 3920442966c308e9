#include "llm/serve/request_room.h"

namespace voltpile::llm {

std::optional<int> RequestRoom::take(std::span<const Request> requests) {
    if (requests.empty()) return std::nullopt;
    const int owner = requests.front().owner;
    const std::lock_guard lock(mutex_);
    int& count = counts_[owner];
    if (count + std::ssize(requests) > most_) return count;
    count += static_cast<int>(requests.size());
    for (const Request& request : requests) owner_of_.emplace(request.id, owner);
    return std::nullopt;
}

void RequestRoom::give_back(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = owner_of_.find(id);
    if (found == owner_of_.end()) return;
    --counts_[found->second];
    owner_of_.erase(found);
}

std::vector<std::int64_t> RequestRoom::ids() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::int64_t> ids;
    for (const auto& each : owner_of_) ids.push_back(each.first);
    return ids;
}

}  // namespace voltpile::llm
