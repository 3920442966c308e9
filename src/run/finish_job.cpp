#include "run/finish_job.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/format.h"
#include "results/open_result.h"
#include "results/parts/consolidate.h"
#include "results/parts/lives_journal.h"
#include "run/provenance.h"
#include "run/record_plan.h"

namespace voltpile {
namespace {

// "pair-step" of "pair-steps".
std::string singular(const std::string& unit) {
    return unit.ends_with('s') ? unit.substr(0, unit.size() - 1) : unit;
}

void print_energy(const LoopOutcome& outcome, double units, const std::string& unit) {
    if (outcome.power.gpus == 0) return;
    fmt::print("{}\n", energy_text(outcome.power, outcome.seconds, units, singular(unit)));
}

// Returns the rank that reports the work of this rank: the leader of its team, or itself.
int reporter_of(const TeamPlan& teams, int rank) {
    const int replica = teams.replica_of(rank);
    return replica < 0 ? rank : leader_of(teams.teams[static_cast<std::size_t>(replica)]);
}

void print_summary(const PreparedJob& job, const LoopOutcome& outcome) {
    std::int64_t points = 0;
    double units = 0;
    for (const RankProgress& each : outcome.ranks) {
        points += each.points;
        units += each.units;
    }
    fmt::print("{} in {}: {:.4g} {}, {:.4g} {}/s\n", points_text(points), duration_text(outcome.seconds),
               units, job.plan.workload.unit, units / outcome.seconds, job.plan.workload.unit);
    print_energy(outcome, units, job.plan.workload.unit);
    fmt::print("{:>5}  {:<16} {:<52} {:>7} {:>7}\n", "rank", "host", "computed on", "share", "busy");
    for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
        const RankPlan& rank = job.plan.ranks[r];
        const RankProgress& did = outcome.ranks[r];
        fmt::print("{:>5}  {:<16} {:<52} ", r, job.plan.host_of(rank).name, processor_text(job.plan, rank));
        const auto own = static_cast<int>(r);
        if (const int reporter = reporter_of(job.plan.teams, own); reporter != own)
            fmt::print("with rank {}\n", reporter);
        else
            fmt::print("{:>5.1f} % {:>5.1f} %\n", units > 0 ? 100 * did.units / units : 0.0,
                       100 * did.busy_s / outcome.seconds);
    }
}

void print_result(const std::filesystem::path& result) {
    std::error_code ignored;
    fmt::print("result: {} ({})\n", result.string(),
               bytes_text(static_cast<double>(std::filesystem::file_size(result, ignored))));
}

class Finish {
  public:
    Finish(const RunOptions& options, const std::filesystem::path& result, const ResultLayout& layout,
           ResultStores& stores, std::optional<BackgroundConsolidation>& consolidation,
           ForcedStop& forced_stop)
        : options_(options),
          result_(result),
          layout_(layout),
          stores_(stores),
          consolidation_(consolidation),
          forced_stop_(forced_stop) {}

    void gather() {
        kept_if_it_fails([&] {
            stores_.gather([&](WorkRange range) {
                if (consolidation_) consolidation_->committed(range);
            });
        });
    }

    // Returns false if committed parts are missing.
    bool put_together(const Provenance& provenance, const PlanRecord& plan) {
        PartFolder& folder = stores_.folder();
        if (!consolidation_ || !consolidation_->publish(provenance, plan)) {
            consolidation_.reset();
            // Reads the folder, not the memory: what cannot be read back does not count as done.
            const PartScan scan = scan_again();
            if (!scan.completed.contains(layout_.whole())) return false;
            kept_if_it_fails([&] { consolidate(folder.life(), layout_, scan.parts, provenance, &plan); });
        }
        forced_stop_.disarm();
        folder.remove();
        return true;
    }

    void end_shard(const Provenance& provenance, const PlanRecord& plan) {
        const Shard& shard = options_.shard;
        ShardEnd end{};
        kept_if_it_fails([&] { end = finish_shard(stores_.folder(), result_, layout_, provenance, &plan); });
        forced_stop_.disarm();
        if (end == ShardEnd::ResultWritten) return print_result(result_);
        const double share = 100.0 * static_cast<double>(shard.interval(layout_.point_count()).size()) /
                             static_cast<double>(layout_.point_count());
        fmt::print("{} is done ({:.3g} % of the sweep); {}\n", shard.text(), share,
                   end == ShardEnd::OthersToCome     ? "the last one to finish writes the result"
                   : end == ShardEnd::OtherIsWriting ? "another one is writing the result"
                                                     : "another one has written the result");
    }

    ExitCode stop() {
        consolidation_.reset();
        RangeSet done = scan_again().completed;
        for (const WorkRange& range : stores_.ranges_elsewhere()) done.insert(range);
        const WorkRange interval = stores_.folder().interval();
        fmt::print("stopped: {} of {}{} are done; run the same command again{} to go on\n",
                   count_text(done.within(interval).size()), points_text(interval.size()),
                   options_.shard.is_whole() ? "" : " of " + options_.shard.text(), without_fresh());
        return ExitCode::Stopped;
    }

    std::string without_fresh() const { return options_.fresh ? ", without --fresh," : ""; }

  private:
    PartScan scan_again() const {
        const PartFolder& folder = stores_.folder();
        PartScan scan = scan_parts(folder.life(), layout_, folder.interval());
        for (const RejectedPart& part : scan.rejected)
            spdlog::error("{}: {}; moved aside", part.path.string(), part.reason);
        return scan;
    }

    template <class Function>
    void kept_if_it_fails(Function&& function) const {
        try {
            function();
        } catch (const TakenOverError&) {
            throw;
        } catch (const FileError& error) {
            throw FileError(fmt::format("{}; all that was computed is kept: run the same command again{}",
                                        error.what(), options_.fresh ? ", without --fresh" : ""));
        }
    }

    const RunOptions& options_;
    const std::filesystem::path& result_;
    const ResultLayout& layout_;
    ResultStores& stores_;
    std::optional<BackgroundConsolidation>& consolidation_;
    ForcedStop& forced_stop_;
};

}  // namespace

ExitCode finish_job(const PreparedJob& job, const RunOptions& options, const std::filesystem::path& result,
                    const ResultLayout& layout, const LoopOutcome& outcome, ResultStores& stores,
                    std::optional<BackgroundConsolidation>& consolidation, ForcedStop& forced_stop) {
    Finish finish(options, result, layout, stores, consolidation, forced_stop);
    if (!outcome.complete) {
        print_summary(job, outcome);
        return finish.stop();
    }
    finish.gather();
    Provenance provenance = make_provenance(job.plan, options.command_line);
    const PlanRecord plan = record_plan(job.plan, outcome);
    provenance.lives = static_cast<std::int64_t>(read_lives(stores.folder().path()).size());
    if (!options.shard.is_whole()) {
        print_summary(job, outcome);
        finish.end_shard(provenance, plan);
        return ExitCode::Done;
    }
    const bool whole = finish.put_together(provenance, plan);
    print_summary(job, outcome);
    if (!whole)
        throw FileError(fmt::format("{} lacks parts that had been committed; run the same command again{}",
                                    stores.life().parts.string(), options.fresh ? ", without --fresh" : ""));
    print_result(result);
    return ExitCode::Done;
}

}  // namespace voltpile
