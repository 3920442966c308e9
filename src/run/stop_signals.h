// SIGINT, SIGTERM and SIGUSR1 ask the job to stop at a range boundary, so that nothing committed is lost and
// it can be resumed. (Batch systems send SIGTERM or, with --signal, SIGUSR1 before a time limit; mpirun
// forwards SIGUSR1.)
#pragma once

namespace voltpile {

class StopSignals {
  public:
    // Blocks those signals in this thread and in all threads started after: make it before any other thread,
    // MPI's included. Also has writes beyond a file size limit fail with an error instead of ending the
    // process.
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    // How many have arrived so far; never waits.
    int received();

    // From now on they end the process again, as they do by default.
    void release();

  private:
    int fd_ = -1;
    int received_ = 0;
};

}  // namespace voltpile
