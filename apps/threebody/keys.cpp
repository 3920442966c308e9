#include "threebody/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "job/job_spec.h"
#include "threebody/methods.h"
#include "threebody/outcome_fields.h"
#include "threebody/parameter_table.h"
#include "threebody/reference.h"

namespace voltpile {
namespace threebody {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr const char* example = R"(app = "threebody"

[system]
G = 9.8
mass = [10.0, 20.0, 30.0]
position = [[0.0, 0.0, -11.0], [0.0, 0.0, 0.0], [10.0, 10.0, 12.0]]
velocity = [[-3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
twin_shift = [0.001, 0.001, 0.001]       # added to body 1 of the twin

[[sweep]]
parameter = "position[0].x"              # any number of [system] or [integrate] can be swept
name = "x"
from = -20.0
to = 20.0
count = 1000
endpoint = false

[[sweep]]
parameter = "position[0].y"
name = "y"
from = -20.0
to = 20.0
count = 1000
endpoint = false

[integrate]
method = "euler"                         # here also: leapfrog, yoshida4, srkn6, rk4, rkn8, gbs10
dt = 0.001
steps = 50000
precision = "fp64"                       # or fp32, double-double

[stop]
separation = 0.5

[output]
fields = ["steps_together"]              # also: time_together, energy_error, closest_approach, final_state ...
)";

std::string method_help() {
    std::string help;
    for (const MethodInfo& method : methods()) {
        help += fmt::format("{}{}: {}.", help.empty() ? "" : " ", method.name, method.help);
    }
    return help;
}

std::string double_double_methods() {
    Texts names;
    for (const MethodInfo& method : methods())
        if (method.double_double) names.emplace_back(method.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

Texts method_names() {
    Texts names;
    for (const MethodInfo& method : methods()) names.emplace_back(method.name);
    return names;
}

std::vector<KeySpec> all_keys() {
    std::vector<KeySpec> keys;
    for (const ParameterKey& parameter : parameter_keys()) {
        if (parameter.spec.path == "integrate.dt") {
            keys.push_back({.path = "integrate.method",
                            .type = ValueType::Text,
                            .choices = method_names(),
                            .help = method_help()});
        }
        keys.push_back(parameter.spec);
    }
    keys.push_back({.path = "integrate.tolerance",
                    .unit = "1",
                    .default_value = Reals{1e-9},
                    // Below, rounding exceeds the error that a step is to have, even in double-double.
                    .range = {.min = 1e-28, .max = 1e-2},
                    .identity_default = false,
                    .help =
                        "Of adaptive methods: the largest estimated error of the velocities in a step, "
                        "relative to the velocities. The time at which the twins part is found within this "
                        "part of the whole time. At least 1e-14 unless integrate.precision is "
                        "\"double-double\"."});
    keys.push_back({.path = "integrate.max_steps",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{100000},
                    .range = {.min = 1, .max = 2147483646},
                    .identity_default = false,
                    .help =
                        "Of adaptive methods: steps attempted for a pair before it is given up. The field "
                        "quality says where that happened."});
    keys.push_back(
        {.path = "integrate.precision",
         .type = ValueType::Text,
         .default_value = Texts{"fp64"},
         .choices = {"fp64", "fp32", "double-double"},
         .help = "Floating-point type of the computation. double-double: numbers of 106 bits, each "
                 "the sum of two in FP64, for deep zooms; with the methods " +
                 double_double_methods() + ", at about a twentieth of FP64's speed."});
    keys.push_back(
        {.path = "stop.separation",
         .unit = "1",
         .default_value = Reals{0.5},
         .range = {.min = 0, .max = infinity, .min_open = true},
         .help = "The twins part when the distance between body 1 and its twin exceeds this (length). The "
                 "integration then ends. inf: never."});
    keys.push_back(
        {.path = "stop.escape",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .identity_default = false,
         .help =
             "Whether the integration also ends when a body of the first system has escaped, see the field "
             "escaper. Only with an adaptive method."});
    keys.push_back({.path = "output.fields",
                    .type = ValueType::Text,
                    .shape = {any_length},
                    .default_value = Texts{"steps_together"},
                    .choices = field_names(),
                    .help = fields_help()});
    for (KeySpec& key : check_keys()) keys.push_back(std::move(key));
    return keys;
}

using Vector = std::array<double, 3>;

Vector vector_at(const Reals& values, std::size_t body) {
    return {values[3 * body], values[3 * body + 1], values[3 * body + 2]};
}

bool is_swept(const JobSpec& job, const std::string& key, int first_element, int last_element) {
    for (int element = first_element; element <= last_element; ++element)
        if (job.varies(key, element)) return true;
    return false;
}

// Bodies at the same point attract each other with infinite force, so no step would be finite.
void refuse_coincident_bodies(const JobSpec& job, const ReportProblem& report) {
    const auto& position = job.reals("system.position");
    const auto& shift = job.reals("system.twin_shift");
    const auto& displacement = job.reals("system.displacement");
    const auto moves = [&](int body) {
        return is_swept(job, "system.position", 3 * body, 3 * body + 2) ||
               (body == 0 && is_swept(job, "system.displacement", 0, 2));
    };
    for (int a = 0; a < 3; ++a) {
        for (int b = a + 1; b < 3; ++b) {
            if (moves(a) || moves(b)) continue;
            auto first = vector_at(position, static_cast<std::size_t>(a));
            if (a == 0)
                for (std::size_t i = 0; i < 3; ++i) first[i] += displacement[i];
            const auto second = vector_at(position, static_cast<std::size_t>(b));
            const auto key = fmt::format("system.position[{}]", b);
            if (first == second)
                report(key, fmt::format("bodies {} and {} start at the same point", a + 1, b + 1));
            if (a > 0 || is_swept(job, "system.twin_shift", 0, 2)) continue;
            for (std::size_t i = 0; i < 3; ++i) first[i] += shift[i];
            if (first == second && shift != Reals{0, 0, 0})
                report(key, fmt::format("bodies 1 and {} of the twin start at the same point", b + 1));
        }
    }
}

// Rejects numbers that FP64 can represent and FP32 cannot.
void refuse_beyond_fp32(const JobSpec& job, const ReportProblem& report) {
    const auto fits = [](double x) { return std::abs(x) <= std::numeric_limits<float>::max(); };
    const auto vanishes = [](double x) { return x != 0 && std::abs(x) < std::numeric_limits<float>::min(); };
    const auto check = [&](const std::string& origin, const std::string& name, double value, bool divides) {
        if (!fits(value))
            report(origin, fmt::format("{} = {} is too large for precision = \"fp32\"", name, value));
        if (divides && vanishes(value))
            report(origin, fmt::format("{} = {} is too small for precision = \"fp32\"", name, value));
    };
    for (const ParameterKey& parameter : parameter_keys()) {
        if (parameter.spec.type != ValueType::Real) continue;
        const std::string& key = parameter.spec.path;
        const auto& values = job.reals(key);
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::string name = key;
            if (values.size() == 3) name += fmt::format("[{}]", i);
            if (values.size() == 9) name += fmt::format("[{}][{}]", i / 3, i % 3);
            check(name, name, values[i], parameter.divides);
        }
    }
    const auto divides = [](const std::string& key) {
        for (const ParameterKey& parameter : parameter_keys())
            if (parameter.spec.path == key) return parameter.divides;
        return false;
    };
    for (const FrameChange& change : job.frame_changes()) {
        for (std::int64_t k = 0; k < change.frames; ++k) {
            const FrameRange range = change.at(k);
            for (const double end : {range.from, range.to})
                check("frames.change", fmt::format("{} in frame {}", change.parameter, k), end,
                      divides(change.key));
        }
    }
    for (std::size_t i = 0; i < job.axes().size(); ++i) {
        const auto& axis = job.axes()[i];
        for (const double end : {axis.value(0), axis.value(axis.count - 1)})
            check(fmt::format("sweep[{}]", i), axis.parameter, end, divides(axis.key));
    }
}

// Fields, axes and the group of a check are in the same group of the result, so their names must differ.
void refuse_field_names(const JobSpec& job, const ReportProblem& report) {
    Texts names = field_names();
    names.insert(names.end(), {"body", "component", "check"});
    for (std::size_t i = 0; i < job.axes().size(); ++i)
        for (const std::string& taken : names)
            if (job.axes()[i].name == taken)
                report(fmt::format("sweep[{}].name", i),
                       fmt::format("an axis cannot be named \"{}\": the result uses that name", taken));
}

void refuse_what_double_double_lacks(const JobSpec& job, const ReportProblem& report) {
    if (job.text("integrate.precision") != "double-double") return;
    const MethodInfo& method = info(method_named(job.text("integrate.method")));
    if (!method.double_double)
        report("integrate.precision",
               fmt::format("method \"{}\" does not compute in double-double; these do: {}", method.name,
                           double_double_methods()));
    if (!method.adaptive) return;
    const Texts& fields = job.texts("output.fields");
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (needs_adaptive_method(fields[i]) || fields[i] == "closest_approach")
            report(fmt::format("output.fields[{}]", i),
                   fmt::format("method \"{}\" does not provide {} in double-double", method.name, fields[i]));
    if (job.boolean("stop.escape"))
        report("stop.escape",
               fmt::format("method \"{}\" does not notice escapes in double-double", method.name));
}

// What FP64 can deliver; see the key's help.
void refuse_beyond_fp64(const JobSpec& job, const ReportProblem& report) {
    const double tolerance = job.real("integrate.tolerance");
    if (job.text("integrate.precision") != "double-double" && tolerance < 1e-14)
        report("integrate.tolerance", fmt::format("integrate.tolerance = {:g} is below 1e-14, what FP64 can "
                                                  "deliver: use integrate.precision = \"double-double\"",
                                                  tolerance));
}

void refuse_what_the_method_lacks(const JobSpec& job, const ReportProblem& report) {
    const MethodInfo& method = info(method_named(job.text("integrate.method")));
    if (!method.adaptive) {
        const Texts& fields = job.texts("output.fields");
        for (std::size_t i = 0; i < fields.size(); ++i)
            if (needs_adaptive_method(fields[i]))
                report(
                    fmt::format("output.fields[{}]", i),
                    fmt::format("method \"{}\" does not provide {}: use an adaptive method, such as \"rkn8\"",
                                method.name, fields[i]));
        if (job.boolean("stop.escape"))
            report(
                "stop.escape",
                fmt::format("method \"{}\" does not notice escapes: use an adaptive method, such as \"rkn8\"",
                            method.name));
        return;
    }
    if (job.text("integrate.precision") == "fp32")
        report("integrate.precision", fmt::format("method \"{}\" computes in fp64 only", method.name));
}

void refuse_deviation_of_parting_twins(const JobSpec& job, const ReportProblem& report) {
    for (const std::string& field : job.texts("output.fields")) {
        if (!brings_twin_back(field)) continue;
        if (std::isfinite(job.real("stop.separation")))
            report("stop.separation",
                   fmt::format("field {} needs stop.separation = inf: it brings the twin back near "
                               "the first system after each step, so the two never part",
                               field));
        if (job.reals("system.twin_shift") == Reals{0, 0, 0} && !is_swept(job, "system.twin_shift", 0, 2))
            report("system.twin_shift",
                   fmt::format(
                       "field {} needs a direction in which the deviation starts, and all components are 0",
                       field));
        return;
    }
}

void check(const JobSpec& job, const ReportProblem& report) {
    refuse_deviation_of_parting_twins(job, report);
    refuse_what_the_method_lacks(job, report);
    refuse_what_double_double_lacks(job, report);
    refuse_beyond_fp64(job, report);
    refuse_coincident_bodies(job, report);
    if (job.text("integrate.precision") == "fp32") refuse_beyond_fp32(job, report);
    refuse_field_names(job, report);
    refuse_useless_check(job, report);
}

}  // namespace
}  // namespace threebody

AppSchema threebody_schema() {
    AppSchema schema;
    schema.name = "threebody";
    schema.summary =
        "Integrates three bodies and a twin system whose body 1 starts slightly displaced, and records how "
        "long the two stay together: a map of how predictable each start is.";
    schema.keys = threebody::all_keys();
    schema.example = threebody::example;
    schema.frames = true;
    schema.refines = true;
    schema.check = threebody::check;
    return schema;
}

}  // namespace voltpile
