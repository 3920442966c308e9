#include "ode/keys.h"

#include "ode/problem_from_job.h"

namespace voltpile {
namespace ode {
namespace {

constexpr const char* ode_example = R"toml(app = "ode"

[parameters]                             # any names
sigma = 10.0
rho = 28.0
beta = 2.6666666666666665

[initial]
x = 1.0
y = 1.0
z = 1.0

[equations]                              # d and the name of a variable
dx = "sigma*(y - x)"
dy = "x*(rho - z) - y"
dz = "x*y - beta*z"

[integrate]
method = "rk4"                           # or dopri5, with a tolerance
dt = 0.01
t_end = 20.0

[outputs]                                # fields of the result
x_end = "x"
distance = "sqrt(x^2 + y^2 + z^2)"

[[sweep]]                                # any parameter or initial value
parameter = "rho"
from = 0.0
to = 60.0
count = 600

[[sweep]]
parameter = "initial.x"
name = "x0"
from = -20.0
to = 20.0
count = 400
endpoint = false
)toml";

KeySpec numbers_key(const char* path, const char* help) {
    return {.path = path, .unit = "1", .sweepable = true, .help = help};
}

KeySpec expressions_key(const char* path, const char* help) {
    return {.path = path, .type = ValueType::Text, .default_value = Texts{}, .help = help};
}

KeySpec number_key(const char* path, double value, ValueRange range, const char* help) {
    return {.path = path, .unit = "1", .default_value = Reals{value}, .range = range, .help = help};
}

std::vector<KeySpec> ode_keys() {
    return {
        numbers_key("parameters.NAME", "Numbers that the equations use, under any names."),
        numbers_key("initial.NAME", "The value of each variable at integrate.t_begin."),
        expressions_key("define.NAME",
                        "Expressions that the equations, events and outputs use by name, such as "
                        "r = \"sqrt(x^2 + y^2)\". They may use each other."),
        expressions_key("equations.NAME",
                        "The derivative of each variable with respect to the time t: the key is d and the "
                        "variable's name, the value an expression, such as dx = \"sigma*(y - x)\"."),
        expressions_key("stop.NAME",
                        "Events that end a point, such as crash = \"x < 0\": the point ends when the "
                        "comparison first holds, at that time within the step, and the field status has the "
                        "event's name."),
        {.path = "outputs.NAME",
         .type = ValueType::Text,
         .default_value = Texts{},
         .file_order = true,
         .help =
             "Fields of the result, in this order: expressions of the last state and of t. Without any, the "
             "fields are final_x and so on, one for each variable."},
        {.path = "integrate.method",
         .type = ValueType::Text,
         .choices = {"rk4", "dopri5"},
         .help = "rk4: the classical method of order 4 with steps of integrate.dt. dopri5: the method of "
                 "Dormand and Prince of order 5, which chooses the steps of each point by the tolerance."},
        number_key("integrate.t_begin", 0, {.min = -1e12, .max = 1e12}, "The time of the initial values."),
        {.path = "integrate.t_end",
         .unit = "1",
         .range = {.min = -1e12, .max = 1e12},
         .help = "The last time."},
        number_key("integrate.dt", 0, {.min = 0},
                   "The size of rk4's steps. If it does not divide the time, the steps are a little "
                   "shorter."),
        number_key("integrate.tolerance", 1e-9, {.min = 1e-14, .max = 0.1},
                   "dopri5: the error of a step may be this times each variable."),
        number_key("integrate.absolute_tolerance", 1e-12, {.min = 1e-300, .max = 1e100},
                   "dopri5: added to the error that the tolerance allows."),
        {.path = "integrate.max_steps",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{100'000'000},
         .range = {.min = 1, .max = 2147483647},
         .help = "Steps of a point, rejected ones included, before it is given up; the field status then "
                 "says max_steps."},
        {.path = "integrate.lyapunov",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .help = "Whether to follow the variational equations, which are derived from the equations, for the "
                 "field lyapunov: the largest Lyapunov exponent."},
        number_key("integrate.lyapunov_from", 0, {.min = -1e12, .max = 1e12},
                   "The stretching counts from this time on, once the point has reached its attractor."),
    };
}

}  // namespace
}  // namespace ode

AppSchema ode_schema() {
    AppSchema schema;
    schema.name = "ode";
    schema.summary =
        "Integrates ordinary differential equations that the job file contains, from every start and with "
        "every "
        "parameter of a sweep: fixed or adaptive steps, events, Lyapunov exponents.";
    schema.keys = ode::ode_keys();
    schema.example = ode::ode_example;
    schema.numerics_version = 2;  // 2: multiply-adds are fused
    schema.refines = true;
    schema.check = ode::check_job;
    return schema;
}

}  // namespace voltpile
