#include "llm/eval/eval_replicas.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/seconds_since.h"
#include "comm/mpi/delayed_any.h"
#include "llm/eval/eval_plan.h"
#include "llm/replica/rank_ops.h"
#include "llm/replica/same_model.h"
#include "run/agreement.h"
#include "run/discover_topology.h"
#include "run/parent_launcher.h"
#include "run/progress.h"

namespace voltpile::llm {
namespace {

class EvalProgress {
  public:
    EvalProgress(std::span<const EvalWindow> windows, bool shown)
        : shown_(shown), line_(shown ? terminal_columns() : 0) {
        for (const EvalWindow& window : windows) all_ += window.size() - 1;
    }

    void add(std::int64_t tokens) {
        done_ += tokens;
        if (!shown_ || !line_.due(seconds())) return;
        line_.show(fmt::format("evaluating {:5.1f} %  {:.0f} tok/s",
                               100 * static_cast<double>(done_) / static_cast<double>(all_),
                               static_cast<double>(done_) / seconds()));
    }
    std::int64_t done() const { return done_; }
    double seconds() const { return seconds_since(begin_); }

  private:
    bool shown_;
    LiveLine line_;
    std::int64_t all_ = 0;
    std::int64_t done_ = 0;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

EvalPlans agreed_plans(const MpiSession& session, const ModelSource& model, const ModelSource& reference,
                       const ReplicaRequest& request) {
    check_same_model(session.world(), model);
    check_same_model(session.world(), reference);
    const Topology topology = discover_topology(session.world());
    return agreed([&] { return plan_both(model, reference, request, topology); });
}

// Shares the scores of the one rank that has them with all ranks of the team.
TextScores shared(const Communicator& team, const TextScores& scores) {
    const auto bytes_of = [](const std::vector<double>& values) {
        return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    };
    const auto gathered = [&](const std::string& mine) {
        std::string all;
        for (const std::string& part : team.all_gather(mine)) all += part;
        return all;
    };
    const auto values_of = [](const std::string& bytes) {
        std::vector<double> values(bytes.size() / sizeof(double));
        if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    };
    team.wait_asleep();
    TextScores result;
    result.losses = values_of(gathered(bytes_of(scores.losses)));
    result.divergences = values_of(gathered(bytes_of(scores.divergences)));
    const bool mine = !scores.losses.empty();
    result.same_top = std::stoll(gathered(mine ? std::to_string(scores.same_top) : ""));
    return result;
}

// Watches for sums that are not finite in one or two models. A pipeline stage does not wait for later stages,
// so a rank that finds such a sum shares that in the background; all ranks learn of it within a few passes
// and end together.
class SumsWatch {
  public:
    SumsWatch(const Replica& model, const Replica* reference)
        : model_(model),
          reference_(reference),
          team_(model.teams().team()),
          any_(team_, 2 * model.teams().stages()) {}

    // Collective over the team, after each pass. Throws AgreedError.
    void passed() {
        if (any_.tell(!found().empty())) agree();
    }
    // After the last one.
    void end() {
        any_.finish();
        agree();
    }

  private:
    std::string found() const {
        if (!model_.not_finite().empty()) return model_.not_finite();
        if (reference_ == nullptr || reference_->not_finite().empty()) return "";
        return fmt::format("the reference: {}", reference_->not_finite());
    }
    void agree() const {
        team_.wait_asleep();
        all_agree(team_, [&] {
            if (!found().empty()) throw Error(ExitCode::Failed, found());
            return std::string();
        });
    }

    const Replica& model_;
    const Replica* reference_;
    const Communicator& team_;
    DelayedAny any_;
};

}  // namespace

void evaluate_on_replicas(const MpiSession& session, const ModelSource& model, const ModelSource* reference,
                          const ReplicaRequest& request, std::span<const EvalWindow> windows,
                          const std::function<void(const EvalRun&)>& done) {
    std::optional<Replica> other;
    ReplicaPlan plan;
    if (reference != nullptr) {
        EvalPlans both = agreed_plans(session, model, *reference, request);
        other.emplace(session, *reference, std::move(both.reference));
        plan = std::move(both.model);
    } else {
        plan = agreed_plan(session, model, request);
    }
    with_replica(session, model, std::move(plan), [&](Replica& replica) {
        EvalRun run;
        run.where = replica.describe();
        const LogitPass pass = [&](const Batch& batch) { return replica.host_logits(batch); };
        LogitPass other_pass;
        if (other) other_pass = [&](const Batch& batch) { return other->host_logits(batch); };
        {
            CpuTeam team(pus_of(replica.plan().plan, session.world().rank()));
            EvalProgress progress(windows, replica.leads());
            SumsWatch sums(replica, other ? &*other : nullptr);
            const ScoreSettings settings{request.logits, request.pages(), [&](std::int64_t tokens) {
                                             progress.add(tokens);
                                             sums.passed();
                                         }};
            const TextScores scores = score_text(windows, pass, other_pass, settings, team);
            sums.end();
            run.scores = shared(replica.teams().team(), scores);
            run.tokens = progress.done();
            run.seconds = progress.seconds();
        }
        if (replica.leads()) done(run);
    });
}

}  // namespace voltpile::llm
