#include "ode/problem_from_job.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/error.h"
#include "ode/outcome.h"

namespace voltpile::ode {

namespace {

static_assert(kMostOutputs == kMostOutputValues);

SourceRegister source_of(const JobSpec& job, const std::string& key, int to) {
    SourceRegister number{.to = to, .source = {}};
    number.source.base = job.real(key);
    std::int64_t stride = 1;
    for (const SweepAxis& axis : job.axes()) {
        if (axis.key == key) {
            number.source.from = axis.from;
            number.source.to = axis.to;
            number.source.count = axis.count;
            number.source.intervals = std::max<std::int64_t>(1, axis.endpoint ? axis.count - 1 : axis.count);
            number.source.stride = stride;
        }
        stride *= axis.count;
    }
    return number;
}

OutcomeField field(const char* name, FieldType type, const char* long_name, std::size_t offset) {
    OutcomeField result;
    result.spec.name = name;
    result.spec.type = type;
    result.spec.unit = "1";
    result.spec.long_name = long_name;
    result.offset = offset;
    return result;
}

}  // namespace

Integration integration_from_job(const JobSpec& job) {
    Integration how;
    how.adaptive = job.text("integrate.method") == "dopri5";
    how.t_begin = job.real("integrate.t_begin");
    how.t_end = job.real("integrate.t_end");
    how.max_steps = static_cast<double>(job.integer("integrate.max_steps"));
    how.tolerance = job.real("integrate.tolerance");
    how.absolute_tolerance = job.real("integrate.absolute_tolerance");
    how.lyapunov = job.boolean("integrate.lyapunov");
    how.lyapunov_from = job.real("integrate.lyapunov_from");
    how.dt = job.real("integrate.dt");
    if (!how.adaptive && how.dt > 0) {
        // A whole number of steps: dt as it is where it divides the time but for rounding, else a shorter
        // one.
        constexpr double rounding = 1e-9;
        const double span = how.t_end - how.t_begin, steps = span / how.dt;
        how.whole_steps = std::max(1.0, std::round(steps));
        if (std::abs(steps - how.whole_steps) > rounding * steps) {
            how.whole_steps = std::ceil(steps);
            how.dt = span / how.whole_steps;
        }
    }
    return how;
}

JobProblem::JobProblem(const JobSpec& job)
    : model(model_from_job(job)),
      integration(integration_from_job(job)),
      system(make_system(model, integration)) {
    system.connect();
    int to = 0;
    for (const std::string& state : model.states) sources.push_back(source_of(job, "initial." + state, to++));
    to = system.first_parameter;
    for (const std::string& name : model.parameters)
        sources.push_back(source_of(job, "parameters." + name, to++));
    system.problem.sources = sources.data();
    system.problem.source_count = static_cast<int>(sources.size());
}

std::vector<OutcomeField> fields_of(const JobProblem& of) {
    std::vector<OutcomeField> fields;
    for (std::size_t i = 0; i < of.model.outputs.size(); ++i) {
        fields.push_back(field(of.model.outputs[i].name.c_str(), FieldType::Float64, "output at the end",
                               offsetof(Outcome, outputs) + i * sizeof(double)));
    }
    fields.push_back(field("t_final", FieldType::Float64, "time at the end", offsetof(Outcome, t_final)));
    fields.push_back(field("steps", FieldType::Int32, "steps of the integrator", offsetof(Outcome, steps)));
    fields.push_back(field("status", FieldType::Int32, "why the point ended", offsetof(Outcome, status)));
    fields.back().spec.labels = {"end", "max_steps", "not_finite", "step_too_small"};
    for (const NamedNode& event : of.model.events) fields.back().spec.labels.push_back(event.name);
    if (of.integration.lyapunov)
        fields.push_back(
            field("lyapunov", FieldType::Float64, "largest Lyapunov exponent", offsetof(Outcome, lyapunov)));
    for (std::size_t i = 0; i < fields.size(); ++i) fields[i].number = static_cast<int>(i);
    return fields;
}

void check_job(const JobSpec& job, const ReportProblem& report) {
    bool sound = true;
    const ReportProblem note = [&](const std::string& key, const std::string& message) {
        sound = false;
        report(key, message);
    };
    model_from_job(job, note);
    const Integration how = integration_from_job(job);
    if (!(how.t_end > how.t_begin))
        note("integrate.t_end", "integrate.t_end must be greater than integrate.t_begin");
    if (!how.adaptive && job.real("integrate.dt") == 0)
        note("integrate.method", "method \"rk4\" needs integrate.dt, the size of its steps");
    if (how.adaptive && job.real("integrate.dt") != 0)
        note("integrate.dt", "method \"dopri5\" chooses its steps: leave out integrate.dt");
    if (how.lyapunov && how.lyapunov_from >= how.t_end)
        note("integrate.lyapunov_from", "integrate.lyapunov_from must be before integrate.t_end");
    if (!sound) return;
    try {
        const JobProblem problem(job);
    } catch (const JobError& error) {
        report("equations", error.what());
    }
}

}  // namespace voltpile::ode
