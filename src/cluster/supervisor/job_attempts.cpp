#include "cluster/supervisor/job_attempts.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/format.h"
#include "base/seconds_since.h"
#include "base/unix_time.h"
#include "cluster/hosts/mpirun.h"
#include "cluster/supervisor/rank_output.h"
#include "cluster/supervisor/verdict.h"
#include "run/final_failure.h"
#include "run/watchdog.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using AttemptClock = std::chrono::steady_clock;

constexpr auto kLostGrace = 3s;      // for a launcher to notice a lost node by itself
constexpr auto kLauncherGrace = 2s;  // between SIGTERM and SIGKILL
constexpr int kPauseMs = 10'000;
// What a rank prints before the path and the time of a checkpoint (apps/command/program_run.cpp).
constexpr const char* kResumesFrom = ": resumes from ";
constexpr double kServedSeconds = 60;  // a server that ran this long counts as progress

std::string how_it_ended(int exit_code) {
    if (exit_code == 0) return "is done";
    if (exit_code > 128 && exit_code <= 128 + SIGRTMAX && exit_code != 255)
        return fmt::format("ended with exit code {} (signal {})", exit_code, exit_code - 128);
    return fmt::format("ended with exit code {}", exit_code);
}

}  // namespace

JobAttempts::JobAttempts(LaunchNodes& nodes, Starter starter, JobCommand job, std::string mark,
                         StopSignals& signals)
    : nodes_(nodes), starter_(starter), job_(std::move(job)), mark_(std::move(mark)), signals_(signals) {}

NodeRoll JobAttempts::check() {
    if (checked_) return *std::exchange(checked_, std::nullopt);
    NodeRoll roll = nodes_.check();
    if (committed_.empty() && !job_.result.empty()) committed_ = nodes_.committed(job_.result);
    return roll;
}

bool JobAttempts::pause() {
    if (signals_.received() == 0) signals_.wait(kPauseMs);
    return signals_.received() == 0;
}

AttemptEnd JobAttempts::run(int attempt, const std::vector<std::string>& names) {
    const std::vector<StartNode> nodes = nodes_.start_nodes(names);
    std::vector<HostEntry> hosts;
    for (const StartNode& node : nodes) hosts.push_back(node.host);
    const MpirunHosts host_file(hosts);
    std::vector<std::string> words = job_.words;
    if (attempt == 1) words.insert(words.end(), job_.first_only.begin(), job_.first_only.end());
    if (nodes.size() < nodes_.count())
        words.insert(words.end(), job_.on_fewer_nodes.begin(), job_.on_fewer_nodes.end());
    // An attempt whose end nobody has seen cannot commit any more once another run has taken over.
    if (!job_.result.empty() && nodes_.may_have_left_some()) words.push_back("--take-over");
    alone_ = starter_ == Starter::Mpirun && starts_alone(nodes);

    if (starter_ == Starter::Mpirun && !alone_ && !find_program("mpirun"))
        throw MachineError("there is no mpirun in PATH: install Open MPI (openmpi-bin)");

    AttemptEnd end;
    const double begin_s = unix_time();
    const auto begin = AttemptClock::now();
    busy_ = true;
    Watched watched;
    {
        StartCommand command = start_command(starter_, nodes, host_file.path(), words, mark_);
        log_ = new_log_folder();
        command.environment[kLogFolderVariable] = std::filesystem::absolute(log_).string();
        LineProcess launcher(command.words, command.environment);
        watched = watch_job(launcher, names);
    }
    end.seconds = seconds_since(begin);
    const std::string lost = nodes_.end_processes(names);
    end.is_final = watched.exit_code == static_cast<int>(kFinalFailure);
    if (end.is_final) watched.exit_code = static_cast<int>(ExitCode::Failed);
    end.exit_code = watched.exit_code;
    end.stopped = signals_.received() > 0 && end.exit_code != 0;
    end.what = how_it_ended(end.exit_code);
    if (!lost.empty()) end.what += "; " + lost;
    if (end.exit_code != 0 && !end.is_final)
        end.progressed = note_progress(end.seconds, watched.checkpoints, end.what);
    busy_ = false;
    if (end.exit_code != 0 && !end.stopped) examine(names, begin_s, watched, end);
    return end;
}

// Finds out why the job died. Evidence that cannot be written is lost; the job goes on.
void JobAttempts::examine(const std::vector<std::string>& names, double begin_s, const Watched& watched,
                          AttemptEnd& end) {
    AttemptEvidence evidence{begin_s, unix_time(), watched.exit_code, watched.last_error, {}};
    checked_ = nodes_.check();
    evidence.nodes = nodes_.evidence(names, begin_s);
    end.verdict = judge_attempt(evidence);
    std::ofstream(log_ / "evidence.json") << evidence_json(evidence, end.verdict) << "\n";
    std::ofstream(log_ / "verdict.txt") << end.what << "\n" << end.verdict << "\n";
}

JobAttempts::Watched JobAttempts::watch_job(LineProcess& launcher, const std::vector<std::string>& names) {
    Watched watched;
    RankOutput output(log_, alone_);
    const auto pass_on = [&] {
        for (; !launcher.lines.empty(); launcher.lines.pop_front()) {
            const std::string& line = launcher.lines.front();
            if (const std::size_t at = line.find(kResumesFrom); at != std::string::npos)
                watched.checkpoints.insert(line.substr(at));
            output.take(line);
        }
    };
    int signals = 0;
    std::optional<AttemptClock::time_point> lost_since;
    nodes_.begin_watch();
    while (launcher.running()) {
        const bool lost = nodes_.watch(launcher, names);
        pass_on();
        if (lost) {
            if (!lost_since) lost_since = AttemptClock::now();
            if (AttemptClock::now() - *lost_since > kLostGrace) launcher.terminate(kLauncherGrace);
        }
        if (const int received = signals_.received(); received > signals) {
            if (received > 1)
                launcher.terminate(kLauncherGrace);
            else
                launcher.signal(SIGUSR1);
            signals = received;
        }
    }
    pass_on();
    watched.exit_code = launcher.exit_code();
    watched.last_error = output.last_error();
    return watched;
}

std::filesystem::path JobAttempts::new_log_folder() const {
    for (int number = 1;; ++number) {
        const std::filesystem::path folder = job_.log_folder / fmt::format("attempt-{}", number);
        std::error_code error;
        if (std::filesystem::create_directories(folder, error)) return folder;
        // As `run` says of a result that cannot be written there.
        if (error) throw FileError("create", folder.string(), error.value(), ExitCode::BadInput);
    }
}

bool JobAttempts::note_progress(double seconds, const std::set<std::string>& checkpoints, std::string& what) {
    if (job_.result.empty()) return seconds >= kServedSeconds;
    // A checkpoint that no attempt has resumed from shows that there was progress in between.
    bool more = false;
    for (const std::string& checkpoint : checkpoints) more = checkpoints_.insert(checkpoint).second || more;
    std::int64_t most = 0;
    for (const auto& [node, points] : nodes_.committed(job_.result)) {
        std::int64_t& before = committed_[node];
        more = more || points > before;
        before = points;
        most = std::max(most, points);
    }
    what += fmt::format("; {} point{} are committed", count_text(most), most == 1 ? "" : "s");
    return more;
}

}  // namespace voltpile
