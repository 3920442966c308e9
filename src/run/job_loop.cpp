#include "run/job_loop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "results/result_writer.h"
#include "run/launcher.h"
#include "run/progress.h"
#include "run/rank_context.h"
#include "run/stop_signals.h"

namespace voltpile {
namespace {

constexpr int report_tag = 1;
// Ranges kept ready on a rank beyond those its app is working on.
constexpr int queue_depth = 1;
// How often messages and signals are looked for. An MPI call that waits would burn the core that the app
// computes on.
constexpr std::chrono::microseconds tick{500};

class Clock {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The app on its thread. `done` is set, with `failure` where there was one, when it has ended and all is
// committed.
class AppThread {
  public:
    AppThread(App& app, RankContext& rank, WorkScheduler& work, ResultWriter& writer)
        : thread_([this, &app, &rank, &work, &writer] {
              try {
                  app.run(rank, work, writer);
                  writer.drain();
              } catch (...) {
                  failure_ = std::current_exception();
              }
              done_.store(true, std::memory_order_release);
          }) {}
    ~AppThread() {
        if (thread_.joinable()) thread_.join();
    }
    AppThread(const AppThread&) = delete;
    AppThread& operator=(const AppThread&) = delete;

    // True once it has ended well; throws what it threw.
    bool done() {
        if (!done_.load(std::memory_order_acquire)) return false;
        if (failure_) std::rethrow_exception(failure_);
        return true;
    }

  private:
    std::exception_ptr failure_;
    std::atomic<bool> done_{false};
    std::thread thread_;
};

// Rank 0's duties beside its own computing.
class Coordinator {
  public:
    Coordinator(const PreparedJob& job, const RangeSet& completed, const Communicator& world,
                const LoopHooks& hooks)
        : world_(world),
          hooks_(hooks),
          server_({0, job.plan.workload.points}, completed, speeds(job.plan), limits(job)),
          display_(make_display(job)),
          time_limit_s_(job.spec.real("run.time_limit_s")) {
        state_.points = job.plan.workload.points;
        state_.points_before = completed.size();
        state_.ranks = world.size();
    }

    void receive(int rank, const RankReport& report, double now_s) {
        server_.receive(rank, report, now_s);
        for (const WorkRange& range : report.committed) hooks_.on_commit(range);
    }

    void tick(double now_s, DispatchClient& own) {
        while (auto message = world_.poll(report_tag))
            receive(message->from, RankReport::from_bytes(message->bytes), now_s);
        if (now_s >= time_limit_s_ && !server_.stopping()) server_.stop();
        if (server_.stopping() && !stop_said_) {
            display_.clear();
            fmt::print(stderr,
                       "stopping when the ranges under way are done; a second signal stops at once\n");
            stop_said_ = true;
        }
        for (const auto& [rank, grant] : server_.take_replies()) {
            if (rank == 0)
                own.receive(grant);
            else
                world_.send(rank, grant_tag, grant.to_bytes());
        }
        state_.elapsed_s = now_s;
        state_.units = 0;
        for (const RankProgress& each : server_.progress()) state_.units += each.units;
        state_.points_done = server_.completed().size();
        display_.update(state_);
    }

    bool finished() const { return server_.all_finished(); }
    const DispatchServer& server() const { return server_; }

  private:
    static ProgressDisplay make_display(const PreparedJob& job) {
        constexpr int room_for_bar = 100;
        const int columns = terminal_columns();
        const int bar_width = columns > 0 && columns < room_for_bar ? 0 : 20;
        return {ProgressMeter(job.spec.name(), job.plan.workload.unit, bar_width), columns};
    }
    static std::vector<double> speeds(const Plan& plan) {
        std::vector<double> out;
        for (const RankPlan& rank : plan.ranks) out.push_back(plan.points_per_s(rank));
        return out;
    }
    // Ranges of a very long job are longer than asked for, so that there never are more than so many parts.
    static RangeLimits limits(const PreparedJob& job) {
        constexpr double most_parts = 1e5;
        const double shortest = job.plan.seconds * static_cast<double>(job.plan.ranks.size()) / most_parts;
        std::int64_t points = job.plan.workload.largest_range();
        if (const std::int64_t asked = job.spec.integer("run.range_points"); asked > 0)
            points = std::min(points, asked);
        return {std::max(job.spec.real("run.range_seconds"), shortest), points};
    }

    const Communicator& world_;
    const LoopHooks& hooks_;
    DispatchServer server_;
    ProgressDisplay display_;
    ProgressState state_;
    double time_limit_s_;
    bool stop_said_ = false;
};

}  // namespace

LoopOutcome run_job_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                         const ResultLayout& layout, const std::filesystem::path& parts,
                         const RangeSet& completed, const LoopHooks& hooks) {
    const Communicator& world = mpi.world();
    const Clock clock;
    WorkScheduler work;
    RankContext rank(job.plan, world.rank());
    DispatchClient client(work, queue_depth);
    std::optional<Coordinator> coordinator;
    if (world.rank() == 0) coordinator.emplace(job, completed, world, hooks);

    ResultWriter writer(parts, layout, [&work](WorkRange range) { work.committed(range); });
    AppThread app(*job.app, rank, work, writer);
    try {
        bool finished = false;  // here; rank 0 stays until all have
        while (!finished || (coordinator && !coordinator->finished())) {
            const double now = clock.seconds();
            while (auto message = world.poll(grant_tag))
                client.receive(RankGrant::from_bytes(message->bytes));
            const int signals_received = signals.received();
            if (signals_received > 1)
                throw Error(ExitCode::Stopped,
                            "stopped at once by a second signal; run the same command again to go on");
            finished = finished || app.done();
            if (auto report = client.report(now, signals_received > 0, finished)) {
                if (coordinator)
                    coordinator->receive(0, *report, now);
                else
                    world.send(0, report_tag, report->to_bytes());
            }
            if (coordinator) coordinator->tick(now, client);
            std::this_thread::sleep_for(tick);
        }
    } catch (const std::exception& error) {
        // The app may be deep in computing, so there is no waiting for it: say why and end the whole job.
        const auto* known = dynamic_cast<const Error*>(&error);
        coordinator.reset();  // takes the live line away
        if (world.rank() == 0) hooks.on_failure();
        spdlog::error("{}", error.what());
        mpi.abort(static_cast<int>(known ? known->exit_code() : ExitCode::Failed));
    }

    LoopOutcome outcome;
    outcome.seconds = clock.seconds();
    if (coordinator) {
        outcome.complete = coordinator->server().complete();
        outcome.ranks = coordinator->server().progress();
    }
    return outcome;
}

}  // namespace voltpile
