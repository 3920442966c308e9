// Runs a small ode job on this thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "job/job_spec.h"
#include "ode/cpu_targets.h"
#include "ode/keys.h"
#include "ode/outcome.h"
#include "ode/problem_from_job.h"

namespace voltpile::ode::testing {

inline JobSpec job_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return parse_job("app = \"ode\"\n" + text, "j", overrides, std::vector<AppSchema>{ode_schema()});
}

// Returns what is wrong with a job, or "accepted".
inline std::string complaint_of(const std::string& text) {
    try {
        job_of(text);
    } catch (const JobError& error) {
        return error.what();
    }
    return "accepted";
}

// Hands out the points 0, 1, ... and keeps the outcomes.
class AllPoints : public PointStream {
  public:
    explicit AllPoints(std::int64_t points) : outcomes(static_cast<std::size_t>(points)) {}

    bool draw(Ticket& ticket) override {
        if (next_ == static_cast<std::int64_t>(outcomes.size())) return false;
        ticket = {next_++, nullptr};
        return true;
    }
    void finish(const Ticket& ticket, const void* outcome) override {
        outcomes[static_cast<std::size_t>(ticket.point)] = *static_cast<const Outcome*>(outcome);
        ++finished;
    }
    bool report(double) override { return true; }

    std::vector<Outcome> outcomes;
    int finished = 0;

  private:
    std::int64_t next_ = 0;
};

// Returns the outcomes of all points. Outputs are sorted by name.
inline std::vector<Outcome> run(const std::string& text, const std::vector<std::string>& overrides = {},
                                CpuLevel level = CpuLevel::Baseline) {
    const JobSpec job = job_of(text, overrides);
    const JobProblem problem(job);
    AllPoints points(job.point_count());
    sweep_on_this_thread(level, problem.problem(), points);
    return points.outcomes;
}

}  // namespace voltpile::ode::testing
