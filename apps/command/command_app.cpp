#include "command/command_app.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/format.h"
#include "base/host_name.h"
#include "base/process.h"
#include "comm/mpi/session.h"
#include "command/checkpoint.h"
#include "command/instance_run.h"
#include "command/judge.h"
#include "command/placeholders.h"
#include "command/resources.h"
#include "command/text_template.h"
#include "job/key_place.h"
#include "job/named_texts.h"
#include "results/result_writer.h"
#include "run/agreement.h"
#include "run/rank_context.h"
#include "work/work_scheduler.h"

namespace voltpile {

void CommandApp::prepare(const Communicator* world) {
    if (world)
        instances_ = command::count_instances(spread_, world->all_gather(host_name()),
                                              job_.integer("cluster.ranks_per_node"));
}

void CommandApp::connect(const MpiSession& mpi) {
    all_agree(mpi.world(), [&] {
        check_program();
        return std::string();
    });
    if (!job_.texts("command.stage").empty())
        staged_ = command::staged_files_from(
            decide_on_root(mpi.world(), [&] { return command::to_bytes(command::read_staged_files(job_)); }));
    if (spread_ == command::Spread::Point) return;
    ranks_ = std::make_unique<Communicator>(mpi.world().split(0));
    ranks_->hand_over();  // run() has a thread of its own
}

void CommandApp::check_program() const {
    const command::TextTemplate text(job_.texts("command.argv").front());
    for (const std::string& name : text.names())
        if (name != "job_folder") return;  // it may differ from run to run
    const std::string program = text.fill({{"job_folder", command::job_folder(job_)}});
    bool found = true;
    if (program.find('/') == std::string::npos) {
        for (const auto& [name, value] : named_texts(job_, "environment.NAME"))
            if (name == "PATH") return;
        found = find_program(program).has_value();
    } else if (program.front() == '/') {
        std::error_code error;  // a folder may be "executed"
        found = access(program.c_str(), X_OK) == 0 && !std::filesystem::is_directory(program, error);
    }
    if (!found)
        throw MachineError(fmt::format("{}: command.argv[0] = \"{}\": {} has no such program{}",
                                       place_of_key(job_, "command.argv"), program, host_name(),
                                       program.front() == '/' ? "" : " in PATH"));
}

void CommandApp::refuse_shards() const {
    if (!has_instances(spread_)) return;
    throw JobError(
        fmt::format("{}: command.instances = \"{}\": all instances run at the same time in one job, "
                    "so --shard cannot divide them: leave it out",
                    place_of_key(job_, "command.instances"), job_.text("command.instances")));
}

std::vector<FieldSpec> CommandApp::fields() const {
    std::vector<FieldSpec> fields = command::record_fields(has_instances(spread_));
    for (FieldSpec& field : outputs_.fields()) fields.push_back(std::move(field));
    return fields;
}

Workload CommandApp::workload() const {
    Workload work;
    work.unit = "runs";
    work.points = spread_ == command::Spread::Point ? job_.point_count() : instances_;
    for (const FieldSpec& field : fields())
        work.bytes_per_point += static_cast<std::int64_t>(field.bytes_per_point());
    work.most_range_points = 1;  // each run is committed when it has ended
    return work;
}

ResultLayout CommandApp::layout(const JobSpec& job) const {
    if (!has_instances(spread_)) return App::layout(job);
    SweepAxis axis;
    axis.name = "instance";
    axis.parameter = "number of the instance";
    axis.unit = "1";
    axis.count = instances_;
    axis.to = static_cast<double>(axis.count);
    return make_layout(job, fields(), {axis}, {});
}

// The estimates of a plan count floating-point instructions; here only the user knows how long a run takes.
Plan CommandApp::plan(const PlanOptions& options, const Topology& topology) {
    if (spread_ != command::Spread::Point) return plan_instances(options, topology);
    Plan plan = App::plan(options, topology);
    const double seconds = job_.real("command.expected_s");
    const auto teams = static_cast<double>(plan.teams.teams.size());
    for (RankPlan& rank : plan.ranks) {
        rank.units_per_s = 1 / seconds;
        rank.range_points = 1;
    }
    plan.seconds = std::ceil(static_cast<double>(plan.workload.points) / teams) * seconds;
    plan.formulas = {fmt::format("{} runs of {} each (command.expected_s), {} at a time: {}",
                                 plan.workload.points, duration_text(seconds), plan.teams.teams.size(),
                                 duration_text(plan.seconds))};
    return plan;
}

// All ranks take part, and rank 0 alone takes the work.
Plan CommandApp::plan_instances(const PlanOptions& options, const Topology& topology) const {
    Workload work = workload();
    work.points = std::ssize(topology.ranks);  // no rank is without work
    Plan plan = make_plan(work, options, topology);
    const std::vector<int> runs = command::instance_ranks(spread_, plan);
    plan.workload.points = std::ssize(runs);
    const double seconds = job_.real("command.expected_s");
    for (RankPlan& rank : plan.ranks) {
        rank.units_per_s = 1 / seconds;
        rank.range_points = 1;
    }
    plan.teams.teams = {Team{{{0}}}};
    plan.teams.places.assign(plan.ranks.size(), TeamPlace{0, 0, 0});
    plan.seconds = seconds;
    plan.formulas = {fmt::format("{} instance{} at the same time for {} (command.expected_s)", runs.size(),
                                 runs.size() == 1 ? "" : "s", duration_text(seconds))};
    const char* const what = spread_ == command::Spread::Allocation ? "once, on the first rank"
                             : spread_ == command::Spread::Node     ? "once on each node"
                                                                    : "once on each rank";
    plan.notes.push_back(
        fmt::format("the program runs {}: {} instance{}", what, runs.size(), runs.size() == 1 ? "" : "s"));
    return plan;
}

void CommandApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    command::ProgramRunner runner(job_, outputs_, staged_, rank.result(), duty_);
    if (spread_ == command::Spread::Point) return run_points(rank, work, results, runner);
    command::InstanceRun instances(job_, rank, *ranks_, runner);
    if (rank.world_rank() == 0)
        instances.lead(work, results);
    else
        instances.follow(work);
    ranks_->hand_over();  // back to the main thread, which frees it
}

void CommandApp::run_points(RankContext& rank, WorkScheduler& work, ResultWriter& results,
                            command::ProgramRunner& runner) const {
    command::RunOrder order;
    order.resources = command::resources_of_rank(rank.plan(), rank.world_rank());
    order.begin_s = command::begin_of_job(rank.result());
    bool warned = false;
    while (const auto range = work.next()) {
        for (std::int64_t point = range->begin; point < range->end; ++point) {
            order.name = fmt::format("point-{}", point);
            order.values = command::values_of(job_, order.resources, rank.result(), point);
            const auto record = runner.run(order, work);
            if (!record) return;
            if (!record->problem.empty())
                report_failure(point, *record, runner.log_of(order.name).string(), warned);
            results.submit({point, point + 1}, command::to_buffers({*record}, false));
        }
    }
}

void CommandApp::report_failure(std::int64_t point, const command::RunRecord& record, const std::string& log,
                                bool& warned) const {
    const std::string text = fmt::format("point {} ({}): {}; see {} and .err", point,
                                         command::axes_text(job_, point), record.problem, log);
    if (job_.text("command.on_failure") == "stop") command::fail_job(job_, record, text);
    if (warned) return;
    warned = true;
    spdlog::warn("{}. The field `outcome` has all runs that fail; further ones are not printed", text);
}

std::unique_ptr<App> make_command(const JobSpec& job) {
    return std::make_unique<CommandApp>(job);
}

}  // namespace voltpile
