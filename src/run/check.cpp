#include "run/check.h"

#include <fmt/format.h>

#include <utility>

#include "results/check.h"
#include "results/parts/durable_file.h"
#include "results/parts/refined_values.h"
#include "results/result_reader.h"
#include "results/result_state.h"
#include "run/agreement.h"

namespace voltpile {
namespace {

constexpr std::size_t kDigitsInName = 8;  // of the fingerprint

// Points that the job computes; of a refined sweep those of its coarsest grid.
std::vector<std::int64_t> sample_of(const ResultLayout& layout, const CheckPlan& plan) {
    const auto seed = static_cast<std::uint64_t>(plan.seed);
    if (!layout.refinement) return sample_points(layout.point_count(), plan.points, seed);
    const RefinedOrder order = refined_order(layout);
    std::vector<std::int64_t> points = sample_points(order.level_range(0).size(), plan.points, seed);
    for (std::int64_t& point : points) point = order.point_at(point);
    return points;
}

}  // namespace

std::optional<ResultCheckTask> ResultCheckTask::make(const App& app, const JobSpec& job,
                                                     const std::filesystem::path& result) {
    const std::optional<CheckPlan> plan = app.check();
    if (!plan) return std::nullopt;
    return agreed([&] {
        ResultCheckTask task;
        task.plan_ = *plan;
        task.sample_ = sample_of(app.layout(job), *plan);
        task.result_ = result;
        task.result_fingerprint_ = app.layout(job).fingerprint;
        task.app_ = app.reference(job, task.sample_);
        task.fingerprint_ = task.app_->layout(job).fingerprint;
        task.place_ = result;
        task.place_.replace_extension(fmt::format("check-{}.h5", task.fingerprint_.substr(0, kDigitsInName)));
        return std::optional(std::move(task));
    });
}

bool ResultCheckTask::is_due(const Communicator& world) const {
    const std::string due = decide_on_root(world, [&]() -> std::string {
        if (inspect_result(result_, result_fingerprint_) != ResultState::Complete) return "";
        const std::optional<ResultCheck> check = read_check(result_);
        if (!check || check->fingerprint != fingerprint_ || check->within != plan_.within) return "due";
        fmt::print("check: {}\n", check_text(*check));
        return "";
    });
    return !due.empty();
}

void ResultCheckTask::store(const Communicator& world) const {
    decide_on_root(world, [&] {
        const ResultCheck check = write_check(result_, ResultReader(place_), sample_,
                                              {plan_.method, fingerprint_, plan_.seed, plan_.within});
        remove_entry(place_);
        fmt::print("check: {}\n", check_text(check));
        return std::string();
    });
}

}  // namespace voltpile
