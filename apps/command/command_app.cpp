#include "command/command_app.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "base/error.h"
#include "base/format.h"
#include "base/host_name.h"
#include "base/process.h"
#include "command/placeholders.h"
#include "command/point_run.h"
#include "command/text_template.h"
#include "job/key_place.h"
#include "job/named_texts.h"
#include "results/result_writer.h"
#include "run/agreement.h"
#include "run/rank_context.h"
#include "work/work_scheduler.h"

namespace voltpile {

void CommandApp::connect(const MpiSession& mpi) {
    all_agree(mpi.world(), [&] {
        check_program();
        return std::string();
    });
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
        found = access(program.c_str(), X_OK) == 0;
    }
    if (!found)
        throw MachineError(fmt::format("{}: command.argv[0] = \"{}\": {} has no such program{}",
                                       place_of_key(job_, "command.argv"), program, host_name(),
                                       program.front() == '/' ? "" : " in PATH"));
}

std::vector<FieldSpec> CommandApp::fields() const {
    std::vector<FieldSpec> fields = command::record_fields();
    for (FieldSpec& field : outputs_.fields()) fields.push_back(std::move(field));
    return fields;
}

Workload CommandApp::workload() const {
    Workload work;
    work.unit = "runs";
    work.points = job_.point_count();
    for (const FieldSpec& field : fields())
        work.bytes_per_point += static_cast<std::int64_t>(field.bytes_per_point());
    work.most_range_points = 1;  // each run is committed when it has ended
    return work;
}

// The estimates of a plan count floating-point instructions; here only the user knows how long a run takes.
Plan CommandApp::plan(const PlanOptions& options, const Topology& topology) {
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

void CommandApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    command::PointRunner runner(job_, outputs_, rank);
    while (const auto range = work.next()) {
        for (std::int64_t point = range->begin; point < range->end; ++point) {
            const auto record = runner.run(point, work);
            if (!record) return;
            results.submit({point, point + 1}, command::to_buffers(*record));
        }
    }
}

std::unique_ptr<App> make_command(const JobSpec& job) {
    return std::make_unique<CommandApp>(job);
}

}  // namespace voltpile
