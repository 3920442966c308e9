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
    explicit ReplicaChoice(int replicas) : replicas_(static_cast<std::size_t>(replicas)) {}

    // Returns the replica for a prompt, and counts the request as one of its. Of the working replicas whose
    // load is at most `slack` above the lowest, the one that has seen the longest common beginning in whole
    // pages of the KV cache; of equal ones the one with the lowest load, then the one chosen longest ago. At
    // least one replica must work. Replicas to be avoided count only if no others work.
    int choose(std::span<const std::int32_t> prompt);
    // A request of this replica has ended. tokens: its prompt and answer, which the replica has now seen;
    // empty if it has not.
    void ended(int replica, std::span<const std::int32_t> tokens = {});
    // From now on avoids this replica, which will probably be excluded.
    void avoid(int replica) { at(replica).avoided = true; }
    // Chooses this replica no more.
    void exclude(int replica) { at(replica).works = false; }

    int load(int replica) const {  // requests not ended
        return replicas_[static_cast<std::size_t>(replica)].load;
    }

    static constexpr int slack = 4;
    // How many beginnings are remembered, of one page and more. Older ones are forgotten.
    static constexpr std::size_t most_beginnings = 1 << 17;

  private:
    struct Replica {
        int load = 0;
        std::uint64_t chosen = 0;  // the number of the choice that was it last
        bool works = true;
        bool avoided = false;
    };
    using Seen = std::unordered_map<std::uint64_t, std::vector<bool>>;  // by hash of a beginning: by whom

    Replica& at(int replica) { return replicas_[static_cast<std::size_t>(replica)]; }
    bool has_seen(std::size_t replica, std::uint64_t beginning) const;
    void remember(std::size_t replica, std::span<const std::uint64_t> beginnings);

    std::vector<Replica> replicas_;
    Seen recent_, older_;  // two generations
    std::uint64_t choices_ = 0;
};

}  // namespace voltpile::llm
