// The requests that have not ended, of which each owner may have only so many: one that sends more than the
// server can answer does not take the room of the others.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "llm/engine/request.h"

namespace voltpile::llm {

// Thread-safe.
class RequestRoom {
  public:
    explicit RequestRoom(int most) : most_(most) {}  // of one owner

    int most() const { return most_; }
    // Makes room for requests of one owner until each has ended. If there is not enough, does nothing and
    // returns how many the owner has.
    std::optional<int> take(std::span<const Request> requests);
    // The request has ended. Does nothing if it has no room.
    void give_back(std::int64_t id);
    std::vector<std::int64_t> ids() const;

  private:
    int most_;
    mutable std::mutex mutex_;                        // of both below
    std::unordered_map<std::int64_t, int> owner_of_;  // by id
    std::unordered_map<int, int> counts_;             // by owner
};

}  // namespace voltpile::llm
