#include "run/refined_loop.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/format.h"
#include "results/parts/refined_values.h"
#include "results/refined_picture.h"
#include "run/agreement.h"

namespace voltpile {
namespace {

class Levels {
  public:
    Levels(const MpiSession& mpi, StopSignals& signals, PreparedJob& job, const ResultLayout& layout,
           ResultStores& stores, const LoopTask& task, const LoopHooks& hooks)
        : mpi_(mpi),
          signals_(signals),
          job_(job),
          layout_(layout),
          stores_(stores),
          task_(task),
          hooks_(hooks),
          order_(refined_order(layout)) {}

    LoopOutcome lead() {
        try {
            lead_levels();
            stores_.tell_next("");
        } catch (const Error& error) {
            stores_.tell_outcome(error.exit_code());
            throw_agreed(error.exit_code(), error.what());
        }
        return std::move(outcome_);
    }

    LoopOutcome follow() {
        for (;;) {
            const std::string message = stores_.await_next();
            if (message.empty()) return std::move(outcome_);
            run(RefinedLevel::from_bytes(order_, message));
        }
    }

  private:
    void lead_levels() {
        RefinedPicture picture(order_, *layout_.refinement);
        int last = order_.levels();
        while (order_.level_range(last).empty()) --last;
        std::int64_t computed = 0;
        for (int level = 0; level <= last; ++level) {
            const RefinedLevel chosen =
                level == 0 ? RefinedLevel(order_, level, true) : picture.choose_next();
            computed += chosen.count();
            // The last one also if it is complete: its loop makes the outcome.
            if (level == last || !task_.completed.contains(chosen.positions())) {
                stores_.tell_next(chosen.to_bytes());
                run(chosen);
                if (!outcome_.complete) return;
            }
            if (level == last) break;
            stores_.gather([](WorkRange) {});
            picture.add(chosen, read_level(stores_.folder().path(), layout_, chosen.positions()));
        }
        fmt::print("refined: {} of {} computed ({:.3g} %)\n", count_text(computed),
                   points_text(order_.points()),
                   100.0 * static_cast<double>(computed) / static_cast<double>(order_.points()));
        std::fflush(stdout);
    }

    void run(const RefinedLevel& level) {
        LoopTask task;
        task.title = fmt::format("{} level {}/{}", task_.title, level.level(), order_.levels());
        task.interval = level.positions();
        task.completed = task_.completed.within(level.positions());
        task.level = &level;
        task.seconds_before = outcome_.seconds;
        outcome_.add(run_job_loop(mpi_, signals_, job_, layout_, stores_.life(), task, hooks_));
    }

    const MpiSession& mpi_;
    StopSignals& signals_;
    PreparedJob& job_;
    const ResultLayout& layout_;
    ResultStores& stores_;
    const LoopTask& task_;
    const LoopHooks& hooks_;
    RefinedOrder order_;
    LoopOutcome outcome_;
};

}  // namespace

LoopOutcome run_refined_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                             const ResultLayout& layout, ResultStores& stores, const LoopTask& task,
                             const LoopHooks& hooks) {
    Levels levels(mpi, signals, job, layout, stores, task, hooks);
    return mpi.world().rank() == 0 ? levels.lead() : levels.follow();
}

std::string refined_bounds_text(const JobSpec& job, const Plan& plan) {
    std::vector<std::int64_t> counts;
    for (const SweepAxis& axis : job.axes()) counts.push_back(axis.count);
    const RefinedOrder order(counts, job.refinement()->levels);
    const std::int64_t least = order.level_range(0).size();
    return fmt::format(
        "refine: between {} (the coarsest grid, {:.3g} %, about {}) and all {} (about {}) are computed",
        points_text(least), 100.0 * static_cast<double>(least) / static_cast<double>(order.points()),
        duration_text(plan.seconds * static_cast<double>(least) / static_cast<double>(order.points())),
        count_text(order.points()), duration_text(plan.seconds));
}

}  // namespace voltpile
