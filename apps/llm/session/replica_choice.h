// Chooses the replica that answers a request: one that probably has the beginning of its prompt in the KV
// cache, unless it has much more to do than the others.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace voltpile::llm {

class ReplicaChoice {
  public:
    explicit ReplicaChoice(int replicas) : load_(static_cast<std::size_t>(replicas), 0) {}

    // Returns the replica for a prompt, and counts the request as one of its. Of the replicas whose load is
    // at most `slack` above the lowest, the one that has been sent the longest common beginning in whole
    // pages of the KV cache; of equal ones the one with the lowest load, then the lowest number.
    int choose(std::span<const std::int32_t> prompt);
    // A request of this replica has ended.
    void ended(int replica) { --load_[static_cast<std::size_t>(replica)]; }

    int load(int replica) const { return load_[static_cast<std::size_t>(replica)]; }  // requests not ended

    static constexpr int slack = 4;
    // How many beginnings are remembered, of one page and more. Older ones are forgotten.
    static constexpr std::size_t most_beginnings = 1 << 17;

  private:
    using Sent = std::unordered_map<std::uint64_t, std::vector<bool>>;  // by hash of a beginning: to whom

    bool was_sent(std::uint64_t beginning, std::size_t replica) const;

    std::vector<int> load_;
    Sent recent_, older_;  // two generations
};

}  // namespace voltpile::llm
