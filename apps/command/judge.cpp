#include "command/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "command/placeholders.h"
#include "command/run_record.h"
#include "results/result_reader.h"
#include "results/rows.h"
#include "run/final_failure.h"

namespace voltpile {

void judge_command(const JobSpec& job, const std::filesystem::path& path) {
    constexpr std::int64_t block = 65536;
    if (job.axes().empty() || job.text("command.on_failure") == "record") return;
    const ResultReader result(path);
    const FieldSpec outcome = command::outcome_field(), problem = command::problem_field();
    const std::int64_t points = result.layout().point_count();
    for (std::int64_t at = 0; at < points; at += block) {
        const std::vector<double> outcomes = result.read(outcome, {at, std::min(at + block, points)});
        if (std::ranges::find(outcomes, static_cast<double>(command::Outcome::Done)) != outcomes.end())
            return;
    }
    const FieldBuffer first = result.read_rows(problem, {0, 1});
    throw FinalError(fmt::format(
        "{} run{} failed; {}: {}. The result has all of them; --fresh computes them again, and "
        "command.on_failure = \"record\" lets such a result pass",
        points == 1 ? "the only" : "all " + count_text(points), points == 1 ? "" : "s",
        "point 0 (" + command::axes_text(job, 0) + ")", RowsView(first, 1, problem.value_bytes()).text(0)));
}

void command::fail_job(const JobSpec& job, const RunRecord& record, const std::string& text) {
    // A run that resumes from a checkpoint may have less to print.
    if (record.outcome == Outcome::Flooded && job.text("command.checkpoint").empty()) throw FinalError(text);
    throw FileError(text);
}

}  // namespace voltpile
