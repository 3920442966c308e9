// Finds out which rank of a job hangs, so that the job ends with a name instead of waiting forever. Each rank
// has one: a thread that the rest of the process cannot hold up unless all of it is suspended.
//
// Each rank tells rank 0 about once a second in which phases its threads are and how far they have come
// (base/phase.h), and rank 0 answers with a sign of life. Rank 0 judges all ranks, itself included; the
// others judge only whether rank 0 is alive.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/mpi/session.h"
#include "plan/plan.h"
#include "run/phase_clock.h"
#include "run/stall_judge.h"

namespace voltpile {

// Keeps SIGUSR2 pending in this thread and in all threads it starts from now on, until a Watchdog answers it.
// Call it at the start of main(), before any other thread exists.
void block_report_signal() noexcept;

// The environment variable with the folder that gets the phases of all ranks (phases.txt) when a rank hangs.
inline constexpr const char* kLogFolderVariable = "VOLTPILE_LOG_FOLDER";

class Watchdog {
  public:
    // The hung rank, and the same for people: "rank 2 on node1 (GPU 1): compute has not moved for 60 s".
    using Found = std::function<void(const HungRank& hung, const std::string& text)>;

    // Collective: every rank calls, from its main thread. mpi must outlive the object. found: called on the
    // watchdog's thread, on rank 0 for any rank and on the others for rank 0; afterwards no rank of its team
    // is judged by its phases. Empty: prints that and the phases of all ranks, and ends all ranks with exit
    // code Failed.
    Watchdog(const MpiSession& mpi, const Plan& plan, const WatchdogDeadlines& deadlines, Found found = {});
    // Tells the others that this rank ends in order, and waits until rank 0, or on rank 0 all others, do too
    // or have been silent for 15 s.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    class Links;  // what the ranks exchange

    double seconds() const;
    void run(const std::stop_token& stop);
    void look();
    void exchange(double now, const PhaseStates& phases);
    bool receive(double now);  // whether anything came
    void part();
    void report();  // for SIGUSR2
    std::string table() const;
    [[noreturn]] void end_hung_job(const HungRank& hung, const std::string& text);

    const MpiSession& mpi_;
    int rank_;
    Found found_;
    std::vector<std::string> names_;  // of the ranks
    StallJudge judge_;
    PhaseClock clock_;
    RankPhases mine_;
    double sign_every_s_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    int wake_ = -1, signal_ = -1;   // descriptors
    std::unique_ptr<Links> links_;  // null for a single rank
    std::jthread thread_;
};

}  // namespace voltpile
