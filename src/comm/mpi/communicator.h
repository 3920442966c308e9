// One group of ranks. Host data travels by MPI, as byte strings: the callers' messages are small and rare.
// All calls of one process come from its main thread. Errors throw CommError naming the
// call.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace voltpile {

struct Message {
    int from = 0;
    std::string bytes;
};

class Communicator {
  public:
    explicit Communicator(MPI_Comm comm);  // borrowed, not freed

    // Collective: every rank calls. The ranks that give the same color form a group, in the order they have
    // here; its messages never mix with this one's. Freed with its last copy (collective, too).
    Communicator split(int color) const;

    // For a group that has failed: it and its copies are never freed. A late message of a peer that goes on
    // must not meet another group under the same number, which MPI would give away again.
    void abandon() const;

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm mpi() const { return comm_; }

    // Collective: every rank calls. Returns the root's bytes on every rank.
    std::string broadcast(const std::string& bytes, int root) const;

    // Collective: every rank calls. Everybody's bytes, by rank.
    std::vector<std::string> all_gather(const std::string& bytes) const;

    // Collective: every rank calls. False if not everybody has come within the time, with nobody waiting on.
    bool barrier(double timeout_s) const;

    // Collective: every rank calls. Returns when all have come, asleep until then, so that those who still
    // work have the cores.
    void wait_asleep() const;

    // Point to point. Messages from one rank under one tag arrive in order. send() returns when `bytes` may
    // be reused.
    void send(int to, int tag, const std::string& bytes) const;

    // A message under `tag` if one has arrived; never waits (a waiting MPI call would burn the core it waits
    // on).
    std::optional<Message> poll(int tag) const;

  private:
    struct Owned;
    std::shared_ptr<Owned> owned_;  // frees comm_ where it is not borrowed
    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace voltpile
