#include "threebody/keys.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "job/job_spec.h"

namespace voltpile {
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
method = "euler"                         # here also: leapfrog, yoshida4, rk4
dt = 0.001
steps = 50000
precision = "fp64"                       # or fp32

[stop]
separation = 0.5

[output]
fields = ["steps_together"]              # also: energy_error, closest_approach, final_state
)";

std::vector<KeySpec> system_keys() {
    return {
        {.path = "system.G",
         .unit = "1",
         .range = {.min = 0},
         .sweepable = true,
         .help = "Gravitational constant. The problem is dimensionless: choose units of length, mass and "
                 "time and express G in them."},
        {.path = "system.mass",
         .shape = {3},
         .unit = "1",
         .range = {.min = 0, .min_open = true},
         .sweepable = true,
         .help = "Masses of the bodies. They must not be zero: the integrators advance momenta and divide by "
                 "the mass."},
        {.path = "system.position",
         .shape = {3, 3},
         .spatial = true,
         .unit = "1",
         .sweepable = true,
         .help = "Initial positions of the bodies (length), one [x, y, z] each."},
        {.path = "system.velocity",
         .shape = {3, 3},
         .spatial = true,
         .unit = "1",
         .sweepable = true,
         .help = "Initial velocities of the bodies (length per time), one [x, y, z] each."},
        {.path = "system.twin_shift",
         .shape = {3},
         .spatial = true,
         .unit = "1",
         .default_value = Reals{0.001, 0.001, 0.001},
         .sweepable = true,
         .help =
             "The twin is a copy of the system with this vector added to the position of body 1 (length). "
             "Zooming into a map requires smaller shifts, limited by the spacing of FP64 numbers: at the "
             "center (5.30031, -0.45), with a frame of width 40/2^(k/30) and a shift of 0.001/2^(k/30), the "
             "limit is near k = 490. Long before that, pixels depend on the order of summation."},
    };
}

std::vector<KeySpec> integrate_keys() {
    return {
        {.path = "integrate.method",
         .type = ValueType::Text,
         .choices = {"euler", "leapfrog", "yoshida4", "rk4"},
         .help =
             "euler: explicit, order 1, used by the published map; its energy drifts. leapfrog: symplectic, "
             "order 2, same cost: one force evaluation per step. yoshida4: symplectic, order 4, three force "
             "evaluations per step. rk4: Runge-Kutta, order 4, four force evaluations per step."},
        {.path = "integrate.dt",
         .unit = "1",
         .range = {.min = 0, .min_open = true},
         .sweepable = true,
         .help = "Time step (time)."},
        {.path = "integrate.steps",
         .type = ValueType::Integer,
         .unit = "1",
         .range = {.min = 1, .max = 2147483646},
         .sweepable = true,
         .help = "Maximum number of steps; the integration ends earlier if the twins part."},
        {.path = "integrate.precision",
         .type = ValueType::Text,
         .default_value = Texts{"fp64"},
         .choices = {"fp64", "fp32"},
         .help = "Floating-point type of the computation."},
    };
}

std::vector<KeySpec> output_keys() {
    return {
        {.path = "stop.separation",
         .unit = "1",
         .default_value = Reals{0.5},
         .range = {.min = 0, .max = infinity, .min_open = true},
         .help = "The twins part when the distance between body 1 and its twin exceeds this (length). The "
                 "integration then ends. inf: never."},
        {.path = "output.fields",
         .type = ValueType::Text,
         .shape = {any_length},
         .default_value = Texts{"steps_together"},
         .choices = {"steps_together", "energy_error", "closest_approach", "final_state"},
         .help = "The fields of the result at each point. steps_together: the first step at whose start the "
                 "twins have parted, else integrate.steps. The other fields describe the system without "
                 "shift up to that step. energy_error: |E - E0| / |E0|, the relative error of its total "
                 "energy. closest_approach: the smallest distance between two bodies. final_state: positions "
                 "and velocities."},
    };
}

using Vector = std::array<double, 3>;

Vector vector_at(const Reals& values, std::size_t body) {
    return {values[3 * body], values[3 * body + 1], values[3 * body + 2]};
}

bool is_swept(const JobSpec& job, const std::string& key, int first_element, int last_element) {
    for (const auto& axis : job.axes())
        if (axis.key == key && axis.element >= first_element && axis.element <= last_element) return true;
    return false;
}

// Bodies at the same point attract each other with infinite force, so no step would be finite.
void refuse_coincident_bodies(const JobSpec& job, const ReportProblem& report) {
    const auto& position = job.reals("system.position");
    const auto& shift = job.reals("system.twin_shift");
    const auto moves = [&](int body) { return is_swept(job, "system.position", 3 * body, 3 * body + 2); };
    for (int a = 0; a < 3; ++a) {
        for (int b = a + 1; b < 3; ++b) {
            if (moves(a) || moves(b)) continue;
            auto first = vector_at(position, static_cast<std::size_t>(a));
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
    const auto divides = [](const std::string& key) { return key == "system.mass" || key == "integrate.dt"; };
    for (const char* const key : {"system.G", "system.mass", "system.position", "system.velocity",
                                  "system.twin_shift", "integrate.dt"}) {
        const auto& values = job.reals(key);
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::string name = key;
            if (values.size() == 3) name += fmt::format("[{}]", i);
            if (values.size() == 9) name += fmt::format("[{}][{}]", i / 3, i % 3);
            check(name, name, values[i], divides(key));
        }
    }
    for (std::size_t i = 0; i < job.axes().size(); ++i) {
        const auto& axis = job.axes()[i];
        for (const double end : {axis.value(0), axis.value(axis.count - 1)})
            check(fmt::format("sweep[{}]", i), axis.parameter, end, divides(axis.key));
    }
}

// Fields and axes are datasets in the same group of the result, so their names must differ.
void refuse_field_names(const JobSpec& job, const ReportProblem& report) {
    for (std::size_t i = 0; i < job.axes().size(); ++i)
        for (const char* const taken :
             {"steps_together", "energy_error", "closest_approach", "final_state", "body", "component"})
            if (job.axes()[i].name == taken)
                report(fmt::format("sweep[{}].name", i),
                       fmt::format("an axis cannot be named \"{}\": the result uses that name",
                                   taken));
}

void check(const JobSpec& job, const ReportProblem& report) {
    refuse_coincident_bodies(job, report);
    if (job.text("integrate.precision") == "fp32") refuse_beyond_fp32(job, report);
    refuse_field_names(job, report);
}

}  // namespace

AppSchema threebody_schema() {
    AppSchema schema;
    schema.name = "threebody";
    schema.summary =
        "Integrates three bodies and a twin system whose body 1 starts slightly displaced, and records how "
        "long the two stay together: a map of how predictable each start is.";
    for (auto rows : {system_keys(), integrate_keys(), output_keys()})
        schema.keys.insert(schema.keys.end(), rows.begin(), rows.end());
    schema.example = example;
    schema.check = check;
    return schema;
}

}  // namespace voltpile
