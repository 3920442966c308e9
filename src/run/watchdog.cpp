#include "run/watchdog.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/seconds_since.h"
#include "base/standard_streams.h"
#include "run/launcher_guard.h"
#include "run/peer_processes.h"
#include "run/phase_table.h"
#include "run/watch_links.h"

namespace voltpile {
namespace {

constexpr int kLookMs = 200, kEndLookMs = 2;
constexpr double kSignEvery_s = 1;
constexpr double kLongestSilence_s = 15;  // of the others, while this rank waits for their ends
// Rank 0 decides, so it notices first; then rank 1, so that only one rank speaks.
constexpr double kAfterRoot_s = 1, kAfterRankOne_s = 2;
// How long mpirun gets to end a job whose nodes it may not all reach, and this process to end with it.
constexpr std::chrono::seconds kLauncherTime{3}, kAbortTime{4};

sigset_t report_set() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return set;
}

std::string name_of_rank(const Plan& plan, std::size_t rank) {
    const RankPlan& mine = plan.ranks[rank];
    const std::string gpu = mine.gpu >= 0 ? " (" + processor_text(plan, mine) + ")" : "";
    return fmt::format("rank {} on {}{}", rank, plan.host_of(mine).name, gpu);
}

std::vector<int> teams_of(const Plan& plan) {
    std::vector<int> teams;
    for (int rank = 0; rank < std::ssize(plan.ranks); ++rank) teams.push_back(plan.teams.replica_of(rank));
    return teams;
}

WatchdogDeadlines deadlines_on(int rank, WatchdogDeadlines deadlines) {
    const double later = rank == 0 ? 0 : rank == 1 ? kAfterRoot_s : kAfterRoot_s + kAfterRankOne_s;
    deadlines.silent += later;
    deadlines.gone += later;
    return deadlines;
}

double shortest_of(const WatchdogDeadlines& deadlines) {
    return std::min(deadlines.silent, std::ranges::min(deadlines.phases));
}

// Slurm watches the nodes of its own jobs, and puts a job back into the queue that lost one. Servers go on
// without the replica that is lost, so they watch also there.
bool slurm_watches_nodes() {
    return std::getenv("SLURM_JOB_ID") && !std::getenv(kLogFolderVariable);
}

}  // namespace

void block_report_signal() noexcept {
    const sigset_t set = report_set();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

class Watchdog::Links {
  public:
    explicit Links(const Communicator& world) : signs(world), peers(world) {}

    // The ranks with which this one exchanges signs.
    std::vector<int> others() const {
        std::vector<int> ranks;
        for (int rank = 0; rank < signs.size(); ++rank)
            if (rank != signs.rank() && (rank == 0 || signs.rank() == 0)) ranks.push_back(rank);
        return ranks;
    }

    WatchLinks signs;
    PeerProcesses peers;
    std::set<int> ended;  // of the others, in order
    std::set<int> lost;   // silent or gone
    double sent_s = -kSignEvery_s;
};

Watchdog::Watchdog(const MpiSession& mpi, const Plan& plan, const WatchdogDeadlines& deadlines, Found found)
    : mpi_(mpi),
      rank_(mpi.world().rank()),
      found_(std::move(found)),
      judge_(teams_of(plan), deadlines_on(mpi.world().rank(), deadlines)),
      sign_every_s_(std::min(kSignEvery_s, shortest_of(deadlines) / 5)) {
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) names_.push_back(name_of_rank(plan, rank));
    block_report_signal();
    const sigset_t set = report_set();
    signal_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (signal_ < 0 || wake_ < 0) throw FileError("open", "a descriptor of the watchdog", errno);
    if (mpi.world().size() > 1) {
        links_ = std::make_unique<Links>(mpi.world());
        for (const int rank : links_->others())
            if (found_ || links_->peers.here(rank) || !slurm_watches_nodes()) judge_.heard(rank, 0);
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Watchdog::~Watchdog() {
    thread_.request_stop();
    const std::uint64_t one = 1;
    (void)!write(wake_, &one, sizeof one);
    thread_.join();
    close(wake_);
    close(signal_);
}

double Watchdog::seconds() const {
    return seconds_since(begin_);
}

void Watchdog::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        look();
        std::array<pollfd, 2> events{pollfd{wake_, POLLIN, 0}, pollfd{signal_, POLLIN, 0}};
        poll(events.data(), events.size(), kLookMs);
        signalfd_siginfo info;
        while (read(signal_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) report();
    }
    if (links_) part();
}

// Tells the others that this rank ends in order, and waits for the same from them: no sign may arrive after
// the communicator is gone, because MPI would give it to a later one.
void Watchdog::part() {
    WatchSign last;
    last.ends = true;
    for (const int rank : links_->others())
        if (!links_->lost.contains(rank)) links_->signs.send(rank, last);
    const auto done = [&] {
        const std::vector<int> others = links_->others();
        return links_->signs.all_sent() && std::ranges::all_of(others, [&](int rank) {
                   return links_->ended.contains(rank) || links_->lost.contains(rank);
               });
    };
    for (double heard = seconds(); !done() && seconds() - heard < kLongestSilence_s;) {
        if (receive(seconds())) heard = seconds();
        pollfd nothing{wake_, 0, 0};
        poll(&nothing, 1, kEndLookMs);
    }
}

bool Watchdog::receive(double now) {
    bool any = false;
    while (const auto message = links_->signs.poll()) {
        any = true;
        const WatchSign sign = WatchSign::from_bytes(message->bytes);
        if (sign.ends) {
            links_->ended.insert(message->from);
            judge_.forget(message->from);
        }
        if (!judge_.expects(message->from)) continue;
        judge_.heard(message->from, now);
        if (links_->signs.rank() == 0) judge_.sees(message->from, sign.phases, now);
        for (const int rank : sign.gone) judge_.gone(rank, now);
    }
    return any;
}

void Watchdog::exchange(double now, const PhaseStates& phases) {
    WatchSign sign;
    sign.phases = phases;
    for (const int rank : links_->peers.ended()) {
        if (links_->signs.rank() == 0 || rank == 0)
            judge_.gone(rank, now);
        else
            sign.gone.push_back(rank);
    }
    receive(now);
    if (now - links_->sent_s < sign_every_s_) return;
    links_->sent_s = now;
    for (const int rank : links_->others())
        if (!links_->ended.contains(rank) && !links_->lost.contains(rank)) links_->signs.send(rank, sign);
}

void Watchdog::look() {
    const double now = seconds();
    const PhaseStates phases = clock_.read(now);
    mine_.see(phases, now);
    if (rank_ == 0) {
        judge_.heard(0, now);
        judge_.sees(0, phases, now);
    }
    if (links_) exchange(now, phases);
    while (const auto hung = judge_.look(now)) {
        const std::string text =
            names_[static_cast<std::size_t>(hung->rank)] + (hung->answers ? ": " : " ") + hung->why;
        if (!found_) end_hung_job(*hung, text);
        judge_.give_up_team(hung->rank);
        if (!hung->answers) {
            judge_.forget(hung->rank);
            links_->lost.insert(hung->rank);
        }
        found_(*hung, text);
    }
}

std::string Watchdog::table() const {
    std::vector<PhaseTableRank> ranks;
    for (int rank = 0; rank < static_cast<int>(names_.size()); ++rank) {
        const RankPhases* phases = judge_.knows(rank) ? &judge_.phases(rank) : nullptr;
        ranks.push_back({names_[static_cast<std::size_t>(rank)], rank == rank_ ? &mine_ : phases});
    }
    return phase_table(ranks, seconds());
}

void Watchdog::report() {
    mine_.see(clock_.read(seconds()), seconds());
    print_stderr("\n" + phase_table({{names_[static_cast<std::size_t>(rank_)], &mine_}}, seconds()));
}

void Watchdog::end_hung_job(const HungRank& hung, const std::string& text) {
    const std::string phases = table();
    spdlog::error("{}; run the same command again to go on", text);
    print_stderr(phases);
    if (const char* folder = std::getenv(kLogFolderVariable))
        std::ofstream(std::filesystem::path(folder) / "phases.txt") << text << "\n" << phases;
    constexpr auto code = ExitCode::Failed;
    // MPI_Abort waits for mpirun, which may be out of reach.
    std::thread([] {
        std::this_thread::sleep_for(kAbortTime);
        std::_Exit(static_cast<int>(code));
    }).detach();
    if (rank_ == 0 && !hung.answers) end_launcher_after(kLauncherTime);
    mpi_.abort(static_cast<int>(code));
}

}  // namespace voltpile
