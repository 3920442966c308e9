#include "nbody/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "nbody/job_check.h"
#include "nbody/methods.h"
#include "nbody/outcome_fields.h"
#include "nbody/parameter_table.h"
#include "nbody/reference.h"

namespace voltpile {
namespace nbody {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr const char* nbody_example = R"toml(app = "nbody"

[system]                                 # 2 to 8 bodies
G = 1.0
mass = [1.0, 1.0, 1.0, 0.001]
position = [[1.0, 0.0, 0.0], [-0.5, 0.8660254, 0.0], [-0.5, -0.8660254, 0.0], [0.0, 0.0, 0.5]]
velocity = [[0.0, 0.7598357, 0.0], [-0.658037, -0.3799178, 0.0], [0.658037, -0.3799178, 0.0], [0.0, 0.0, 0.0]]
softening = 0.0

[potential]                              # of a fixed center at the origin; may be left out
kind = "harmonic"                        # or point, plummer, logarithmic
frequency = 0.1

[[sweep]]                                # or [table]: file = "starts.csv"
parameter = "position[3].z"              # any number of [system], [potential] or [integrate] can be swept
name = "z"
from = 0.0
to = 2.0
count = 100

[[sweep]]
parameter = "velocity[3].x"
name = "vx"
from = 0.0
to = 1.0
count = 100

[integrate]
method = "rkn8"                          # or gbs10; with fixed steps: euler, leapfrog, yoshida4, srkn6, rk4
dt = 0.01
steps = 2000
tolerance = 1e-10

[output]
fields = ["closest_approach", "energy_error", "status"]
)toml";

std::string method_help() {
    std::string help;
    for (const MethodInfo& method : methods())
        help += fmt::format("{}{}: {}.", help.empty() ? "" : " ", method.name, method.help);
    return help;
}

Texts method_names() {
    Texts names;
    for (const MethodInfo& method : methods()) names.emplace_back(method.name);
    return names;
}

std::string double_double_methods() {
    Texts names;
    for (const MethodInfo& method : methods())
        if (method.double_double) names.emplace_back(method.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

KeySpec potential_key() {
    return {.path = "potential.kind",
            .type = ValueType::Text,
            .default_value = Texts{"none"},
            .choices = {"none", "point", "plummer", "harmonic", "logarithmic"},
            .help =
                "The potential of a center at the origin that does not move. The energy of a body of mass "
                "1 at a distance r is, for point: -G M / r; plummer: -G M / sqrt(r^2 + b^2); harmonic: "
                "w^2 r^2 / 2; logarithmic: v^2 / 2 log(r^2 + b^2)."};
}

std::vector<KeySpec> nbody_keys() {
    std::vector<KeySpec> keys;
    for (const ParameterKey& parameter : parameter_keys()) {
        if (parameter.spec.path == "potential.central_mass") keys.push_back(potential_key());
        if (parameter.spec.path == "integrate.dt")
            keys.push_back({.path = "integrate.method",
                            .type = ValueType::Text,
                            .choices = method_names(),
                            .help = method_help()});
        keys.push_back(parameter.spec);
    }
    keys.push_back({.path = "integrate.tolerance",
                    .unit = "1",
                    .default_value = Reals{1e-9},
                    // Below, rounding exceeds the error that a step is to have, even in double-double.
                    .range = {.min = 1e-28, .max = 1e-2},
                    .help = "Of adaptive methods: the largest estimated error of the velocities in a step, "
                            "relative to the velocities, both as the root of the sum of squares over all "
                            "bodies. Below 1e-14 only with integrate.precision = \"double-double\"."});
    keys.push_back(
        {.path = "integrate.precision",
         .type = ValueType::Text,
         .default_value = Texts{"fp64"},
         .choices = {"fp64", "double-double"},
         .identity_default = false,
         .help = "Floating-point type of the computation. double-double: numbers of 106 bits, each "
                 "the sum of two in FP64, on CPU cores; with the methods " +
                 double_double_methods() + ", at about a twentieth of FP64's speed."});
    keys.push_back({.path = "integrate.max_steps",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{1'000'000},
                    .range = {.min = 1, .max = 2147483646},
                    .help = "Of adaptive methods: steps attempted for a point before it is given up; the "
                            "field status then says max_steps."});
    keys.push_back({.path = "stop.collision",
                    .unit = "1",
                    .default_value = Reals{0},
                    .range = {.min = 0},
                    .help =
                        "A point ends when two bodies come as close as this (length); 0: never. Methods of "
                        "fixed steps look after each step, adaptive ones also within it, but they always "
                        "end with the step."});
    keys.push_back({.path = "stop.escape_distance",
                    .unit = "1",
                    .default_value = Reals{0},
                    .range = {.min = 0},
                    .help =
                        "A point ends when a body has escaped: it is further than this (length) from every "
                        "other body, recedes from the center of mass of the others, and is faster than the "
                        "escape velocity of all their mass there. With a potential point or plummer, the "
                        "center is the origin, which must be as far, and its mass counts, too. 0: never."});
    keys.push_back({.path = "stop.separation",
                    .unit = "1",
                    .default_value = Reals{kInfinity},
                    .range = {.min = 0, .max = kInfinity, .min_open = true},
                    .identity_default = false,
                    .help =
                        "A point ends when a body is further than this (length) from the same body of a twin "
                        "of the system, which starts system.twin_shift away. Such points are computed on "
                        "CPU cores. inf: there is no twin."});
    keys.push_back({.path = "table.file",
                    .type = ValueType::Text,
                    .default_value = Texts{""},
                    .help =
                        "A table of starts instead of [[sweep]]: each row is a point, each column a number "
                        "that could be swept. CSV: the first line names the columns, such as "
                        "position[0].x,position[0].y,mass[2]; lines that begin with # are skipped. HDF5 "
                        "(.h5 or .hdf5): datasets position and velocity of shape [rows, bodies, 3], mass of "
                        "shape [rows, bodies], or one number a row under a name as in CSV. Numbers without "
                        "a column are those of the job file. The content of the table, not its name, is "
                        "part of the job."});
    keys.push_back({.path = "output.fields",
                    .type = ValueType::Text,
                    .shape = {any_length},
                    .default_value = Texts{"final_state", "energy_error", "status"},
                    .choices = field_names(),
                    .help = fields_help()});
    for (KeySpec& key : keys)
        if (key.path == "table.file") key.identity = false;  // its content counts (NbodyApp::layout)
    for (KeySpec& key : check_keys()) keys.push_back(std::move(key));
    return keys;
}

}  // namespace
}  // namespace nbody

AppSchema nbody_schema() {
    AppSchema schema;
    schema.name = "nbody";
    schema.summary =
        "Integrates 2 to 8 bodies in three dimensions, with softening and a central potential, from every "
        "start "
        "of a sweep or of a table: fixed or adaptive steps, collisions, escapes.";
    schema.keys = nbody::nbody_keys();
    schema.example = nbody::nbody_example;
    schema.frames = true;
    schema.refines = true;
    schema.check = nbody::check_job;
    return schema;
}

}  // namespace voltpile
