// The attempts of one job on real nodes.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/supervisor/attempt_loop.h"
#include "cluster/supervisor/launch_nodes.h"
#include "run/stop_signals.h"

namespace voltpile {

struct JobCommand {
    std::vector<std::string> words;           // PROGRAM run JOB --output ...
    std::vector<std::string> on_fewer_nodes;  // further options of attempts without some of the nodes
    std::vector<std::string> first_only;      // options of the first attempt: --fresh
    std::string result;                       // absolute path; empty: a server, which has none
    std::filesystem::path log_folder;         // gets a folder for each attempt
};

class JobAttempts : public AttemptRunner {
  public:
    // All references must outlive it.
    JobAttempts(LaunchNodes& nodes, Starter starter, JobCommand job, std::string mark, StopSignals& signals);

    NodeRoll check() override;
    AttemptEnd run(int attempt, const std::vector<std::string>& names) override;
    bool pause() override;

    // Whether a signal must end a check of the nodes at once: not while a job is running or being ended.
    bool may_abort() const { return !busy_ && signals_.received() > 0; }

  private:
    struct Watched {
        int exit_code = 0;
        std::string last_error;
        std::set<std::string> checkpoints;  // from which programs of the job have resumed, as the ranks say
    };
    Watched watch_job(LineProcess& launcher, const std::vector<std::string>& names);
    std::filesystem::path new_log_folder() const;
    bool note_progress(double seconds, const std::set<std::string>& checkpoints, std::string& what);
    void examine(const std::vector<std::string>& names, double begin_s, const Watched& watched,
                 AttemptEnd& end);

    LaunchNodes& nodes_;
    Starter starter_;
    JobCommand job_;
    std::string mark_;
    StopSignals& signals_;
    bool busy_ = false;
    bool alone_ = false;               // one rank without a launcher
    std::filesystem::path log_;        // folder of the attempt
    std::optional<NodeRoll> checked_;  // after the last attempt
    std::map<std::string, std::int64_t> committed_;
    std::set<std::string> checkpoints_;  // from which the attempts so far have resumed
};

}  // namespace voltpile
