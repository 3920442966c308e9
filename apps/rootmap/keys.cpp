#include "rootmap/keys.h"

#include <fmt/format.h>

#include <limits>

#include "rootmap/job_check.h"
#include "rootmap/methods.h"
#include "rootmap/outcome_fields.h"
#include "rootmap/parameter_table.h"
#include "rootmap/reference.h"

namespace voltpile {
namespace rootmap {
namespace {

constexpr const char* job_example = R"(app = "rootmap"

[map]
method = "newton"                        # here also: halley, secant, mandelbrot, julia, henon, clifford ...
polynomial = "z^5 - z - 1"

[[sweep]]                                # across the picture: the real part of the start
parameter = "start.x"
name = "x"
from = -1.8
to = 1.8
count = 2700
endpoint = false

[[sweep]]                                # down the picture: the imaginary part
parameter = "start.y"
name = "y"
from = 1.1
to = -1.1
count = 1500
endpoint = false

[iterate]
max_iterations = 45
tolerance = 1e-7

[output]
fields = ["iterations", "root"]          # also: smooth, final_z, quality ...
)";

std::string methods_help() {
    std::string help = "What a step does.";
    for (const MethodInfo& method : methods()) help += fmt::format(" {}: {}.", method.name, method.help);
    return help;
}

Texts all_methods() {
    Texts names;
    for (const MethodInfo& method : methods()) names.emplace_back(method.name);
    return names;
}

KeySpec coefficients_key(const char* path, const char* help) {
    return {.path = path,
            .shape = {any_length},
            .unit = "1",
            .default_value = Reals{},
            .range = {.min = -1e100, .max = 1e100},
            .help = help};
}

std::vector<KeySpec> rootmap_keys() {
    std::vector<KeySpec> keys;
    keys.push_back(
        {.path = "map.method", .type = ValueType::Text, .choices = all_methods(), .help = methods_help()});
    keys.push_back({.path = "map.polynomial",
                    .type = ValueType::Text,
                    .default_value = Texts{""},
                    .help = "Methods for roots: the polynomial p(z), such as \"z^5 - z - 1\" or \"(z - 1)^2 "
                            "(z + 2i)\", of degree 1 to 64."});
    keys.push_back(coefficients_key("map.coefficients",
                                    "Instead of map.polynomial: the real parts of its coefficients, that of "
                                    "z^0 first."));
    keys.push_back(coefficients_key("map.coefficients_im",
                                    "Beside map.coefficients: their imaginary parts; missing ones are 0."));
    for (const ParameterKey& parameter : parameter_keys()) keys.push_back(parameter.spec);
    keys.push_back({.path = "map.center",
                    .type = ValueType::Text,
                    .shape = {2},
                    .default_value = Texts{"0", "0"},
                    .help =
                        "With iterate.precision = \"perturbation\": what is added to map.constant, [x, y], "
                        "as decimal numbers of up to 300 digits. A deep zoom sweeps map.constant around "
                        "0."});
    keys.push_back({.path = "iterate.max_iterations",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .range = {.min = 1, .max = 2147483646},
                    .help = "Steps of a point before it is given up; the field quality then says stopped."});
    keys.push_back({.path = "iterate.tolerance",
                    .unit = "1",
                    .default_value = Reals{1e-7},
                    .range = {.min = 1e-30, .max = 0.1},
                    .help = "Methods for roots end with the first step that is shorter than this; clifford "
                            "and de_jong when an earlier point comes back this closely."});
    keys.push_back({.path = "iterate.escape_radius",
                    .unit = "1",
                    .default_value = Reals{2},
                    .range = {.min = 1, .max = 1e6, .min_open = true},
                    .help = "mandelbrot, julia, burning_ship and henon end when |z| exceeds this. Larger "
                            "than 2, smooth and distance become more exact."});
    keys.push_back(
        {.path = "iterate.precision",
         .type = ValueType::Text,
         .default_value = Texts{"fp64"},
         .choices = {"fp64", "fp32", "double-double", "perturbation"},
         .help = "Floating-point type of the computation. double-double: numbers of 106 bits, "
                 "each the sum of two in FP64, for pixels down to 1e-28 wide, at about a "
                 "twentieth of FP64's speed. perturbation: mandelbrot around map.center, for pixels down to "
                 "1e-280. clifford and de_jong compute in fp64 only."});
    keys.push_back({.path = "output.fields",
                    .type = ValueType::Text,
                    .shape = {any_length},
                    .default_value = Texts{"iterations"},
                    .choices = field_names(),
                    .help = fields_help()});
    for (KeySpec& key : check_keys()) keys.push_back(std::move(key));
    return keys;
}

}  // namespace
}  // namespace rootmap

AppSchema rootmap_schema() {
    AppSchema schema;
    schema.name = "rootmap";
    schema.summary =
        "Iterates a map of the plane from every start, or with every constant, and records what becomes of "
        "it: roots of polynomials (Newton, Halley, Schroeder, secant), Mandelbrot, Julia and Burning Ship "
        "sets, Henon, Clifford and de Jong maps.";
    schema.keys = rootmap::rootmap_keys();
    schema.example = rootmap::job_example;
    schema.frames = true;
    schema.refines = true;
    schema.check = rootmap::check_job;
    return schema;
}

}  // namespace voltpile
