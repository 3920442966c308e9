#include "run/job_loop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>

#include "base/host_name.h"
#include "base/phase.h"
#include "base/seconds_since.h"
#include "base/standard_streams.h"
#include "comm/mpi/message_tags.h"
#include "results/result_writer.h"
#include "run/agreement.h"
#include "run/forced_stop.h"
#include "run/parent_launcher.h"
#include "run/process_age.h"
#include "run/progress.h"
#include "run/rank_context.h"
#include "run/record_plan.h"
#include "run/stop_signals.h"

namespace voltpile {
namespace {

// A rank that fails waits this long for rank 0 to report it and to end the job.
constexpr std::chrono::seconds patience{5};
// Ranges kept ready on a rank, on top of those its app is computing.
constexpr int queue_depth = 1;
// The interval between looks at messages and signals. A waiting MPI call would burn the core that the app
// computes on.
constexpr std::chrono::microseconds tick{500};

class Clock {
  public:
    double seconds() const { return seconds_since(start_); }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Runs the app on a thread. Once it has ended and everything is committed, `done` is set, and `failure` if it
// threw.
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

    // Returns true once the app has ended well; rethrows what it threw.
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

// The failure of another rank as rank 0 receives it. One full disk may fail all ranks at once, and is
// reported once.
class RankFailure : public Error {
  public:
    RankFailure(const Message& message)
        : Error(static_cast<ExitCode>(message.bytes.at(0)),
                message.bytes.substr(message.bytes.find('\n') + 1)),
          origin_(fmt::format("rank {} on {}", message.from,
                              message.bytes.substr(1, message.bytes.find('\n') - 1))) {}
    static std::string to_bytes(const std::exception& error) {
        return static_cast<char>(exit_code_of(error)) + host_name() + "\n" + error.what();
    }
    const std::string& origin() const { return origin_; }

  private:
    std::string origin_;
};

// Prints the error and ends every rank.
[[noreturn]] void end_job(const MpiSession& mpi, const std::exception& error) {
    if (mpi.world().rank() != 0) {
        mpi.world().send(0, kFailureTag, RankFailure::to_bytes(error));
        std::this_thread::sleep_for(patience);
    }
    if (const auto* elsewhere = dynamic_cast<const RankFailure*>(&error))
        spdlog::default_logger()->set_pattern(fmt::format("%^%l%$ ({}): %v", elsewhere->origin()));
    end_all_ranks(mpi, error);
}

// What rank 0 does besides its own computing.
class Coordinator {
  public:
    Coordinator(const PreparedJob& job, const LoopTask& task, const Communicator& world,
                const LoopHooks& hooks)
        : world_(world),
          hooks_(hooks),
          server_(task.interval, task.completed, leader_speeds(job.plan), limits(job, task)),
          display_(make_display(job, task)),
          time_limit_s_(job.spec.real("run.time_limit_s") - task.seconds_before) {
        state_.points = task.interval.size();
        state_.points_before = task.completed.size();
        state_.ranks = world.size();
    }

    void receive(int rank, const RankReport& report, double now_s) {
        server_.receive(rank, report, now_s);
        for (const WorkRange& range : report.committed) hooks_.on_commit(rank, range);
    }

    void tick(double now_s, DispatchClient& own) {
        if (auto message = world_.poll(kFailureTag)) throw RankFailure(*message);
        while (auto message = world_.poll(kReportTag))
            receive(message->from, RankReport::from_bytes(message->bytes), now_s);
        if (now_s >= time_limit_s_ && !server_.stopping()) server_.stop();
        if (server_.stopping() && !stop_said_) {
            display_.clear();
            print_error("stopping when the ranges under way are done; a second signal stops at once");
            stop_said_ = true;
        }
        for (const auto& [rank, grant] : server_.take_replies()) {
            if (rank == 0)
                own.receive(grant);
            else
                world_.send(rank, kGrantTag, grant.to_bytes());
        }
        // Sums over thousands of ranks every half millisecond would keep a core busy.
        if (now_s < next_sums_s_) return;
        next_sums_s_ = now_s + kSumsEvery_s;
        state_.elapsed_s = now_s;
        state_.units = 0;
        for (const RankProgress& each : server_.progress()) state_.units += each.units;
        state_.points_done = server_.completed().size();
        state_.gauges = merged(server_.gauges());
        display_.update(state_);
        if (now_s >= next_look_s_) {
            next_look_s_ = now_s + 1;
            hooks_.on_progress(state_, server_.progress());
        }
    }

    bool finished() const { return server_.all_finished(); }
    const DispatchServer& server() const { return server_; }

  private:
    static ProgressDisplay make_display(const PreparedJob& job, const LoopTask& task) {
        constexpr int room_for_bar = 100;
        const int columns = terminal_columns();
        const int bar_width = columns > 0 && columns < room_for_bar ? 0 : 20;
        return {ProgressMeter(task.title, job.plan.workload.unit, bar_width), columns};
    }
    // The ranges of a very long job are longer than requested, which bounds the number of parts.
    static RangeLimits limits(const PreparedJob& job, const LoopTask& task) {
        constexpr double most_parts = 1e5;
        const double share =
            static_cast<double>(task.interval.size()) / static_cast<double>(job.plan.workload.points);
        const double shortest =
            job.plan.seconds * share * static_cast<double>(job.plan.teams.teams.size()) / most_parts;
        std::int64_t points = job.plan.workload.largest_range();
        if (const std::int64_t asked = job.spec.integer("run.range_points"); asked > 0)
            points = std::min(points, asked);
        return {std::max(job.spec.real("run.range_seconds"), shortest), points, side_by_side(job.plan)};
    }
    // Of sweeps, whose points share no more than a processor.
    static std::vector<std::int64_t> side_by_side(const Plan& plan) {
        constexpr std::int64_t of_multiprocessor = 256, of_core = 8;
        std::vector<std::int64_t> points;
        for (const Team& team : plan.teams.teams) {
            const RankPlan& rank = plan.ranks[static_cast<std::size_t>(team.stages.front().front())];
            if (!plan.workload.gpu_state_bytes)
                points.push_back(1);
            else if (rank.gpu < 0)
                points.push_back(std::ssize(rank.cores) * of_core);
            else
                points.push_back(plan.host_of(rank).gpus[static_cast<std::size_t>(rank.gpu)].multiprocessors *
                                 of_multiprocessor);
        }
        return points;
    }

    const Communicator& world_;
    const LoopHooks& hooks_;
    DispatchServer server_;
    ProgressDisplay display_;
    ProgressState state_;
    double time_limit_s_;
    static constexpr double kSumsEvery_s = 0.05;  // the live line changes less often
    double next_sums_s_ = 0;
    double next_look_s_ = 0;
    bool stop_said_ = false;
};

}  // namespace

void LoopOutcome::add(const LoopOutcome& next) {
    complete = next.complete;
    seconds += next.seconds;
    if (start_s == 0) start_s = next.start_s;
    ranks.resize(next.ranks.size());
    memory.resize(next.memory.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        ranks[r].points += next.ranks[r].points;
        ranks[r].units += next.ranks[r].units;
        ranks[r].busy_s += next.ranks[r].busy_s;
    }
    for (std::size_t r = 0; r < memory.size(); ++r) {
        memory[r].host_bytes = std::max(memory[r].host_bytes, next.memory[r].host_bytes);
        memory[r].gpu_bytes = std::max(memory[r].gpu_bytes, next.memory[r].gpu_bytes);
    }
}

LoopOutcome run_job_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                         const ResultLayout& layout, const Life& life, const LoopTask& task,
                         const LoopHooks& hooks) {
    const Communicator& world = mpi.world();
    const double start_s = process_age_s();
    const Clock clock;
    WorkScheduler work(task.level);
    RankContext rank(job.plan, world.rank(), life.result);
    DispatchClient client(work, queue_depth);
    std::optional<Coordinator> coordinator;
    if (world.rank() == 0) coordinator.emplace(job, task, world, hooks);

    ResultWriter writer(
        life, layout, [&work](WorkRange range) { work.committed(range); }, task.level);
    std::optional<AppThread> app;
    if (!rank.idle()) app.emplace(*job.app, rank, work, writer);
    if (!rank.leads()) work.close();
    try {
        const InPhase dispatching(Phase::Dispatch);
        bool finished = false;  // on this rank; rank 0 stays until all have finished
        while (!finished || (coordinator && !coordinator->finished())) {
            count_step(Phase::Dispatch);
            const double now = clock.seconds();
            while (auto message = world.poll(kGrantTag))
                client.receive(RankGrant::from_bytes(message->bytes));
            const int signals_received = signals.received();
            if (signals_received > 1) throw stopped_at_once();
            if (!finished && (!app || app->done())) {
                finished = true;
                client.note_memory(memory_in_use(rank.mine()));
            }
            if (auto report = client.report(now, signals_received > 0, finished)) {
                if (coordinator)
                    coordinator->receive(0, *report, now);
                else
                    world.send(0, kReportTag, report->to_bytes());
            }
            if (coordinator) coordinator->tick(now, client);
            hooks.on_tick();
            std::this_thread::sleep_for(tick);
        }
    } catch (const std::exception& error) {
        // The app may be deep in computing, so do not wait for it: print why and end the whole job.
        coordinator.reset();  // clears the live line
        if (world.rank() == 0) hooks.on_failure();
        end_job(mpi, error);
    }

    LoopOutcome outcome;
    outcome.seconds = clock.seconds();
    outcome.start_s = start_s;
    if (coordinator) {
        outcome.complete = coordinator->server().complete();
        outcome.ranks = coordinator->server().progress();
        outcome.memory = coordinator->server().memory();
    }
    return outcome;
}

}  // namespace voltpile
