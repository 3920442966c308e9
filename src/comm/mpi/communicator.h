// One group of ranks. Host data travels over MPI as byte strings; the callers' messages are small and rare.
// Errors throw CommError naming the call.
//
// Threads. MPI runs at MPI_THREAD_MULTIPLE (comm/mpi/session.h). One thread at a time makes all calls on a
// communicator: its owner. Every call checks that and throws std::logic_error.
// - The world belongs to the main thread for the life of the process.
// - A communicator split from the world, with all that is split from it in turn, belongs to the thread that
//   split it. After hand_over() they belong to the thread that calls next. A job's teams are made and freed
//   by the main thread, and used by the app's thread in between.
// - A StagedCommunicator's thread owns the communicator of its messages (set_own_thread()).
//
// Two calls name no communicator and may come from any thread: MPI_Test on the caller's own requests
// (Outbox), and MpiSession::abort().
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
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
    // Borrows `comm` and never frees it. It belongs to this thread for good.
    explicit Communicator(MPI_Comm comm);

    // Collective: every rank calls. The ranks that give the same color form a group, in the order they have
    // here; its messages never mix with this one's. Freed with its last copy (collective, too).
    Communicator split(int color) const;

    // Gives this communicator, and all that share its owner, to the thread that calls next. Not for the
    // world.
    void hand_over() const;

    // Gives this communicator alone to the thread that calls next, apart from those it was split from.
    void set_own_thread();

    // Call for a failed group: it and its copies are never freed. A late message of a peer that still runs
    // must not reach another group with the same context id, which MPI would otherwise reuse.
    void abandon() const;

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm mpi() const;  // for a call that this thread is about to make

    // Collective: every rank calls. Returns the root's bytes on every rank.
    std::string broadcast(const std::string& bytes, int root) const;

    // Collective: every rank calls. Returns the bytes of all ranks, by rank.
    std::vector<std::string> all_gather(const std::string& bytes) const;

    // Collective: every rank calls. Returns false if not all ranks arrive within timeout_s; then no rank
    // keeps waiting.
    bool barrier(double timeout_s) const;

    // Collective: every rank calls. Returns when all have arrived. Sleeps until then, so that ranks that
    // still compute have the cores. meanwhile: called about every millisecond.
    void wait_asleep(const std::function<void()>& meanwhile = [] {}) const;

    // Point to point. Messages from one rank under one tag (comm/mpi/message_tags.h) arrive in order. send()
    // returns when `bytes` may be reused.
    void send(int to, int tag, const std::string& bytes) const;

    // Returns a message under `tag` if one has arrived; never waits (a waiting MPI call would burn the core
    // it waits on).
    std::optional<Message> poll(int tag) const;

    // Returns the next message under `tag`. Polls without pause for `patience`, then between short sleeps.
    Message wait_for(int tag, std::chrono::microseconds patience = {}) const;

  private:
    struct Owned;
    class Owner;

    std::shared_ptr<Owned> owned_;  // frees comm_ where it is not borrowed
    std::shared_ptr<Owner> owner_;  // the calling thread
    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 1;
};

// Throws CommError naming the call, with MPI's text, unless it succeeded.
void mpi_check(int code, const char* call);

// The length as MPI counts it. Throws CommError for more than MPI can send at once.
int mpi_length(const std::string& bytes);

}  // namespace voltpile
