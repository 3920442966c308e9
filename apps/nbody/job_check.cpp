#include "nbody/job_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "job/job_spec.h"
#include "nbody/methods.h"
#include "nbody/outcome_fields.h"
#include "nbody/parameter_table.h"
#include "nbody/problem.h"
#include "nbody/reference.h"

namespace voltpile::nbody {

namespace {

bool has_table(const JobSpec& job) {
    return !job.text("table.file").empty();
}

// Whether a number of the key is swept or changes from frame to frame.
bool is_swept(const JobSpec& job, const std::string& key) {
    const auto of_key = [&](const auto& each) { return each.key == key; };
    return std::ranges::any_of(job.axes(), of_key) || std::ranges::any_of(job.frame_changes(), of_key);
}

// Returns whether every body has a mass, a position and a velocity.
bool check_bodies(const JobSpec& job, const ReportProblem& report) {
    const std::size_t bodies = job.reals("system.mass").size();
    if (bodies < kFewestBodies || bodies > kMostBodies) {
        report("system.mass", fmt::format("system.mass has {} masses: {} to {} bodies are possible", bodies,
                                          kFewestBodies, kMostBodies));
        return false;
    }
    bool sound = true;
    for (const char* const key : {"system.position", "system.velocity"}) {
        const std::size_t vectors = job.reals(key).size() / 3;
        if (vectors == bodies) continue;
        sound = false;
        report(key, fmt::format("{} has {} vectors, but system.mass has {} masses", key, vectors, bodies));
    }
    return sound;
}

// Bodies at the same point attract each other with infinite force, so no step would be finite.
void refuse_coincident_bodies(const JobSpec& job, const ReportProblem& report) {
    if (job.real("system.softening") > 0 || is_swept(job, "system.softening") ||
        is_swept(job, "system.position") || !job.reals("system.displacement").empty() || has_table(job))
        return;
    const Reals& x = job.reals("system.position");
    const std::size_t bodies = x.size() / 3;
    for (std::size_t i = 0; i < bodies; ++i)
        for (std::size_t j = i + 1; j < bodies; ++j)
            if (std::equal(&x[3 * i], &x[3 * i] + 3, &x[3 * j]))
                report(fmt::format("system.position[{}]", j),
                       fmt::format("bodies {} and {} start at the same point: move one, or set "
                                   "system.softening",
                                   i + 1, j + 1));
}

struct PotentialKey {
    const char* key;
    bool needed[5];  // by Potential
    bool used[5];
};

constexpr PotentialKey kPotentialKeys[] = {
    {"potential.central_mass", {false, true, true, false, false}, {false, true, true, false, false}},
    {"potential.scale", {}, {false, false, true, false, true}},
    {"potential.frequency", {false, false, false, true, false}, {false, false, false, true, false}},
    {"potential.speed", {false, false, false, false, true}, {false, false, false, false, true}},
};

void check_potential(const JobSpec& job, const ReportProblem& report) {
    const std::string& kind = job.text("potential.kind");
    const auto index = static_cast<std::size_t>(potential_named(kind));
    for (const PotentialKey& key : kPotentialKeys) {
        const bool given = job.real(key.key) != 0 || is_swept(job, key.key);
        if (key.needed[index] && !given && !has_table(job))
            report("potential.kind", fmt::format("potential \"{}\" needs {}", kind, key.key));
        if (given && !key.used[index])
            report(key.key, fmt::format("potential \"{}\" does not use {}", kind, key.key));
    }
    const Potential potential = potential_named(kind);
    if (job.real("stop.escape_distance") > 0 &&
        (potential == Potential::Harmonic || potential == Potential::Logarithmic))
        report(
            "stop.escape_distance",
            fmt::format("nothing escapes from the potential \"{}\": leave out stop.escape_distance", kind));
}

void check_method(const JobSpec& job, const ReportProblem& report) {
    const MethodInfo& method = info(method_named(job.text("integrate.method")));
    const Texts& fields = job.texts("output.fields");
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (fields[i] == "escaper" && job.real("stop.escape_distance") == 0)
            report(fmt::format("output.fields[{}]", i), "the field escaper needs stop.escape_distance");
    if (!method.adaptive && job.real("integrate.tolerance") != 1e-9)
        report("integrate.tolerance",
               fmt::format("method \"{}\" has fixed steps: leave out integrate.tolerance", method.name));
}

void check_precision(const JobSpec& job, const ReportProblem& report) {
    const MethodInfo& method = info(method_named(job.text("integrate.method")));
    const bool displaced = !job.reals("system.displacement").empty();
    if (job.text("integrate.precision") != "double-double") {
        if (displaced)
            report(
                "system.displacement",
                "displacements need integrate.precision = \"double-double\": in FP64 move system.position");
        if (const double tolerance = job.real("integrate.tolerance"); tolerance < 1e-14)
            report("integrate.tolerance",
                   fmt::format("integrate.tolerance = {:g} is below 1e-14, what FP64 can "
                               "deliver: use integrate.precision = \"double-double\"",
                               tolerance));
        return;
    }
    const auto lacks = [&](const std::string& key, const std::string& what) {
        report(key, fmt::format("method \"{}\" does not {} in double-double", method.name, what));
    };
    if (!method.double_double) lacks("integrate.precision", "compute");
    if (std::isfinite(job.real("stop.separation"))) lacks("stop.separation", "follow a twin");
    if (job.real("stop.escape_distance") > 0) lacks("stop.escape_distance", "notice escapes");
    const Texts& fields = job.texts("output.fields");
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (is_of_deviation(fields[i])) lacks(fmt::format("output.fields[{}]", i), "provide " + fields[i]);
    if (displaced && job.reals("system.displacement").size() != job.reals("system.position").size())
        report("system.displacement", "system.displacement needs a vector for each body");
    if (!method.adaptive) return;
    if (job.real("stop.collision") > 0) lacks("stop.collision", "notice collisions");
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (fields[i].starts_with("closest"))
            lacks(fmt::format("output.fields[{}]", i), "provide " + fields[i]);
}

// Reports a twin without a use, and fields without a twin or a direction.
void check_companions(const JobSpec& job, const ReportProblem& report) {
    const bool twin = std::isfinite(job.real("stop.separation"));
    const Texts& fields = job.texts("output.fields");
    std::string needs_shift = twin ? "stop.separation" : "";
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string key = fmt::format("output.fields[{}]", i);
        if (is_of_twin(fields[i]) && !twin)
            report(key, fmt::format("the field {} needs stop.separation", fields[i]));
        if (!is_of_deviation(fields[i])) continue;
        if (needs_shift.empty()) needs_shift = key;
        if (twin)
            report(key, fmt::format("the field {} follows a small deviation instead of a twin: leave out "
                                    "stop.separation or the field",
                                    fields[i]));
    }
    const Reals& shift = job.reals("system.twin_shift");
    const bool moves = is_swept(job, "system.twin_shift") || has_table(job) ||
                       std::ranges::any_of(shift, [](double x) { return x != 0; });
    if (needs_shift.empty()) {
        if (!shift.empty())
            report("system.twin_shift",
                   "system.twin_shift has no effect without stop.separation or one of the fields "
                   "lyapunov_exponent and megno");
    } else if (shift.size() != job.reals("system.position").size()) {
        report(shift.empty() ? needs_shift : "system.twin_shift",
               fmt::format("{} needs system.twin_shift with a vector for each body",
                           twin ? "stop.separation" : "the growth of a deviation"));
    } else if (!moves) {
        report("system.twin_shift", "system.twin_shift is 0 in all components: shift a body");
    }
}

void check_axes(const JobSpec& job, const ReportProblem& report) {
    if (has_table(job) && !job.axes().empty())
        report("table.file", "the rows of a table are the points of the job: leave out [[sweep]] or [table]");
    if (has_table(job) && job.integer("check.points") > 0)
        report("check.points", "the starts of a table cannot be checked: leave out the check");
    Texts names = field_names();
    names.insert(names.end(), {"body", "component", "check"});
    for (std::size_t i = 0; i < job.axes().size(); ++i)
        for (const std::string& taken : names)
            if (job.axes()[i].name == taken)
                report(fmt::format("sweep[{}].name", i),
                       fmt::format("an axis cannot be named \"{}\": the result uses that name", taken));
}

}  // namespace

void check_job(const JobSpec& job, const ReportProblem& report) {
    if (!check_bodies(job, report)) return;
    refuse_coincident_bodies(job, report);
    check_potential(job, report);
    check_method(job, report);
    check_precision(job, report);
    check_companions(job, report);
    check_axes(job, report);
    refuse_useless_check(job, report);
}

}  // namespace voltpile::nbody
