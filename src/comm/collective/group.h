// What all implementations of StreamCommunicator share: the members of the group, whether it has failed, and
// the argument checks.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "comm/collective/failure_board.h"
#include "comm/collective/stream_communicator.h"

namespace voltpile {

class CollectiveGroup {
  public:
    // Collective: every rank calls.
    explicit CollectiveGroup(const Communicator& group);

    int rank() const { return rank_; }
    int size() const { return static_cast<int>(hosts_.size()); }
    const std::vector<std::string>& hosts() const { return hosts_; }  // by rank
    std::string rank_text(int rank) const;                            // "rank 3 (node2)"
    std::string others_text() const;  // all but this rank: "rank 0 (node1), rank 3 (node2)"

    // Cancels the group's work here and for the ranks on the same host. Call it before releasing anything
    // that peers could take for data. Returns true for the first call on this rank.
    bool fail(const std::string& why = "") noexcept;
    bool failed() const { return failed_.load() || board_.rank() >= 0; }
    std::string failure_text() const;  // "rank 3 (node2): its group was called off by rank 0 (node2): why"

    // Throw CommError if the group has failed or the arguments are wrong. Return false if there is nothing to
    // do.
    bool begin(std::int64_t count) const;
    bool begin_reduction(std::int64_t count, ElementType type) const;
    bool begin_with_peer(std::int64_t count, int peer) const;

  private:
    int rank_ = 0;
    std::vector<std::string> hosts_;
    FailureBoard board_;
    std::atomic<bool> failed_ = false;
};

}  // namespace voltpile
