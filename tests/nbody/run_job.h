// Runs a small nbody job on this thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "job/job_spec.h"
#include "nbody/cpu_targets.h"
#include "nbody/keys.h"
#include "nbody/outcome.h"
#include "nbody/problem_from_job.h"

namespace voltpile::nbody::testing {

inline JobSpec job_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return parse_job("app = \"nbody\"\n" + text, "j", overrides, std::vector<AppSchema>{nbody_schema()});
}

// Returns what is wrong with a job, or "accepted".
inline std::string complaint_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    try {
        job_of(text, overrides);
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
        if (next_ == std::ssize(outcomes)) return false;
        ticket = {next_++, nullptr};
        return true;
    }
    void finish(const Ticket& ticket, const void* outcome) override {
        outcomes[static_cast<std::size_t>(ticket.point)] = *static_cast<const Outcome*>(outcome);
    }
    bool report(double) override { return true; }

    std::vector<Outcome> outcomes;

  private:
    std::int64_t next_ = 0;
};

inline std::vector<Outcome> run(const std::string& text, const std::vector<std::string>& overrides = {},
                                CpuLevel level = CpuLevel::Baseline) {
    const JobSpec job = job_of(text, overrides);
    AllPoints points(job.point_count());
    cpu_sweep(level)(problem_from_job(job), points);
    return points.outcomes;
}

struct Body {
    double mass = 0;
    double x[3] = {}, v[3] = {};
};

inline std::string system_of(const std::vector<Body>& bodies, double G = 1) {
    std::string mass, position, velocity;
    for (const Body& body : bodies) {
        mass += fmt::format("{:.17g}, ", body.mass);
        position += fmt::format("[{:.17g}, {:.17g}, {:.17g}], ", body.x[0], body.x[1], body.x[2]);
        velocity += fmt::format("[{:.17g}, {:.17g}, {:.17g}], ", body.v[0], body.v[1], body.v[2]);
    }
    return fmt::format("[system]\nG = {:.17g}\nmass = [{}]\nposition = [{}]\nvelocity = [{}]\n", G, mass,
                       position, velocity);
}

inline std::string every_field(bool escapes = false) {
    return fmt::format(
        "[output]\nfields = [\"status\", \"final_time\", \"final_state\", \"energy_error\", "
        "\"angular_momentum_error\", \"closest_approach\", \"closest_time\", \"closest_pair\", "
        "\"step_count\"{}]\n",
        escapes ? ", \"escaper\"" : "");
}

inline std::string fixed_steps(const std::string& method, double time, int steps) {
    return fmt::format("[integrate]\nmethod = \"{}\"\ndt = {:.17g}\nsteps = {}\n", method, time / steps,
                       steps);
}

inline std::string adaptive(const std::string& method, double time, double tolerance) {
    return fmt::format("[integrate]\nmethod = \"{}\"\ndt = {:.17g}\nsteps = 100\ntolerance = {}\n", method,
                       time / 100, tolerance);
}

inline int status(Status status) {
    return static_cast<int>(status);
}

inline const double* position_of(const Outcome& outcome, int body) {
    return outcome.final_state + 6 * body;
}

}  // namespace voltpile::nbody::testing
