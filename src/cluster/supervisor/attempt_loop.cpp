#include "cluster/supervisor/attempt_loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/format.h"

namespace voltpile {
namespace {

class Supervisor {
  public:
    Supervisor(AttemptRunner& runner, int patience, const std::function<void(const std::string&)>& say)
        : runner_(runner), patience_(patience), say_(say) {}

    LaunchSummary run() {
        for (;;) {
            const NodeRoll roll = runner_.check();
            tell_changes(roll);
            if (refused_on_ == roll.usable)
                return finish(ExitCode::CannotRun, "these nodes cannot run the job");
            if (roll.usable.empty()) {
                if (no_progress("no node can be used")) return finish(ExitCode::CannotRun, why_);
                if (!runner_.pause()) return finish(ExitCode::Stopped, "stopped");
                continue;
            }
            const AttemptEnd end = attempt(roll.usable);
            if (end.stopped) return finish(ExitCode::Stopped, "stopped");
            if (end.exit_code == 0) return finish(ExitCode::Done, "");
            if (end.is_final) return finish(ExitCode::Failed, "another attempt would fail in the same way");
            if (end.exit_code == static_cast<int>(ExitCode::BadInput))
                return finish(ExitCode::BadInput, "the job file or the arguments are wrong");
            if (end.exit_code == static_cast<int>(ExitCode::Stopped))
                return finish(ExitCode::Stopped, "the job has stopped itself");
            // On other nodes it may run: a node that is lost may take the reason with it.
            refused_on_.reset();
            if (end.exit_code == static_cast<int>(ExitCode::CannotRun)) refused_on_ = roll.usable;
            if (end.progressed)
                fruitless_ = 0;
            else if (no_progress(end.what))
                return finish(ExitCode::Failed, why_);
        }
    }

  private:
    // Returns whether it is time to give up.
    bool no_progress(const std::string& what) {
        ++fruitless_;
        why_ = fruitless_ == 1
                   ? what
                   : fmt::format("{} attempts in a row made no progress; the last one: {}", fruitless_, what);
        return fruitless_ >= patience_;
    }

    AttemptEnd attempt(const std::vector<std::string>& nodes) {
        const int number = static_cast<int>(summary_.attempts.size()) + 1;
        say_(fmt::format("attempt {} on {}", number, fmt::join(nodes, ", ")));
        const AttemptEnd end = runner_.run(number, nodes);
        summary_.attempts.push_back({nodes, end});
        say_(fmt::format("attempt {} {} after {}", number, end.what, duration_text(end.seconds)));
        if (!end.verdict.empty()) say_("verdict: " + end.verdict);
        return end;
    }

    void tell_changes(const NodeRoll& roll) {
        for (const ExcludedNode& node : roll.excluded)
            if (std::ranges::find(summary_.excluded, node) == summary_.excluded.end())
                say_(fmt::format("without {}: {}", node.name, node.why));
        for (const ExcludedNode& node : summary_.excluded)
            if (std::ranges::find(roll.usable, node.name) != roll.usable.end())
                say_(fmt::format("{} is back", node.name));
        summary_.excluded = roll.excluded;
    }

    LaunchSummary finish(ExitCode code, const std::string& why) {
        summary_.code = code;
        summary_.why = why;
        return std::move(summary_);
    }

    AttemptRunner& runner_;
    int patience_;
    const std::function<void(const std::string&)>& say_;
    int fruitless_ = 0;
    std::string why_;
    std::optional<std::vector<std::string>> refused_on_;  // nodes of an attempt that ended with CannotRun
    LaunchSummary summary_;
};

}  // namespace

LaunchSummary supervise(AttemptRunner& runner, int patience,
                        const std::function<void(const std::string&)>& say) {
    return Supervisor(runner, patience, say).run();
}

}  // namespace voltpile
