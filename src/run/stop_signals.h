// SIGINT, SIGTERM and SIGUSR1 ask the job to stop at a range boundary, so that it can be resumed. (Batch
// systems send SIGTERM or, with --signal, SIGUSR1 before a time limit; mpirun forwards SIGUSR1.) They never
// end the process by themselves: its exit code is the job's.
#pragma once

#include <atomic>

namespace voltpile {

// Keeps the stop signals pending in this thread and in all threads it starts from now on, until a StopSignals
// counts them. Call it at the start of main(), before any other thread exists.
void block_stop_signals() noexcept;

class StopSignals {
  public:
    // Blocks the stop signals as block_stop_signals() does, for the rest of the process's life; those that
    // are pending count. Also makes writes beyond a file size limit fail with an error instead of ending the
    // process. Throws FileError.
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    // The number of signals that have arrived so far. Never waits. Thread-safe.
    int received();

    // Waits at most this long for another signal. Thread-safe.
    void wait(int milliseconds) const;

    // Whether a SIGTERM among those received came from Open MPI's launcher, which sends it to the ranks that
    // are left when another rank has died, or when it is told to stop itself, and kills them a second later.
    bool launcher_ends_job() const { return launcher_ends_job_; }

  private:
    int fd_ = -1;
    std::atomic<int> received_ = 0;
    std::atomic<bool> launcher_ends_job_ = false;
};

}  // namespace voltpile
