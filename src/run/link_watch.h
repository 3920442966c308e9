// Notices ranks that fall silent: a cut link or a lost node. mpirun notices by itself only while it has
// nothing unacknowledged in flight to that node; otherwise TCP tries for a quarter of an hour before it gives
// up.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/communicator.h"
#include "plan/plan.h"

namespace voltpile {

// When each rank was heard last. Pure: the time comes in with the calls.
class SilenceClock {
  public:
    SilenceClock(int ranks, double patience_s)
        : patience_s_(patience_s), heard_s_(static_cast<std::size_t>(ranks)) {}

    void heard(int rank, double now_s) { heard_s_[static_cast<std::size_t>(rank)] = now_s; }
    void forget(int rank) {
        heard_s_[static_cast<std::size_t>(rank)].reset();
    }  // it need not answer any more

    // Returns the first rank that has been silent for longer than the patience. Call it several times a
    // second: after a longer pause this process was suspended itself, so it counts every rank as heard now.
    std::optional<int> silent(double now_s);

  private:
    double patience_s_;
    std::vector<std::optional<double>> heard_s_;  // none: not expected to answer
    double last_look_s_ = 0;
};

// Rank 0 hears nothing from a rank any more, or a rank nothing from rank 0.
class LostLink : public CommError {
  public:
    using CommError::CommError;
};

// On each rank's main thread, while the job loop runs: rank 0 and every other rank send each other a sign of
// life each second.
class LinkWatch {
  public:
    // True for a program that mpirun has started on several hosts by itself: Slurm watches its nodes.
    static bool needed();

    LinkWatch(const Communicator& world, const Plan& plan);

    // Sends and takes in signs of life. Call it several times a second. Throws LostLink.
    void look();

    // Rank 0: `rank` has ended its loop and sends no more signs.
    void finished(int rank);

  private:
    double seconds() const;

    const Communicator& world_;
    const Plan& plan_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    SilenceClock clock_;
    std::vector<int> others_;  // to whom this rank sends
    double sent_s_ = 0;
};

}  // namespace voltpile
