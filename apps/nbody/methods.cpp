#include "nbody/methods.h"

#include <stdexcept>
#include <string>

namespace voltpile::nbody {

namespace {

constexpr MethodInfo kMethods[] = {
    {"euler", 1, false, true, 4, "explicit, order 1; its energy drifts"},
    {"leapfrog", 1, false, true, 7, "kick, drift, kick; symplectic, order 2, one force evaluation per step"},
    {"yoshida4", 3, false, false, 11, "symplectic, order 4, three force evaluations per step"},
    {"srkn6", 14, false, false, 33, "symplectic, order 6, 14 force evaluations per step"},
    {"rk4", 4, false, false, 17, "Runge-Kutta, order 4, four force evaluations per step"},
    {"rkn8", 8, true, true, 80,
     "Runge-Kutta-Nystrom, order 8, eight force evaluations per step; each point chooses its own steps so "
     "that their errors stay below integrate.tolerance"},
    {"gbs10", 16, true, false, 120,
     "Gragg-Bulirsch-Stoer extrapolation, order 10, 16 force evaluations per step, chosen as with rkn8; for "
     "close encounters"},
};

constexpr const char* kPotentials[] = {"none", "point", "plummer", "harmonic", "logarithmic"};

}  // namespace

std::span<const MethodInfo> methods() {
    return kMethods;
}

const MethodInfo& info(Method method) {
    return kMethods[static_cast<int>(method)];
}

Method method_named(std::string_view name) {
    for (int i = 0; const MethodInfo& method : kMethods) {
        if (method.name == name) return static_cast<Method>(i);
        ++i;
    }
    throw std::logic_error("nbody has no integrator " + std::string(name));
}

Potential potential_named(std::string_view name) {
    for (int i = 0; const char* const potential : kPotentials) {
        if (potential == name) return static_cast<Potential>(i);
        ++i;
    }
    throw std::logic_error("nbody has no potential " + std::string(name));
}

bool needs_cores(const Problem& problem) {
    return problem.double_double || problem.want_deviation || has_twin(problem);
}

double instructions_of(const Problem& problem) {
    constexpr double pair = 3 + 3 + 10 + 2 + 6;  // distance, its square, inverse cube, two accelerations
    constexpr double center = 3 + 10 + 3;
    const double bodies = problem.bodies, pairs = bodies * (bodies - 1) / 2;
    const double forces = pairs * pair + (problem.potential == Potential::None ? 0 : bodies * center);
    const MethodInfo& method = info(problem.method);
    double instructions = method.force_evaluations * forces + method.instructions * 3 * bodies;
    if (has_twin(problem)) instructions = 2 * instructions + 12 * bodies;
    if (problem.want_deviation) {
        constexpr double linearized = 3 + 3 + 6 + 6 + 6;  // differences, product, division, two accelerations
        const double more = (pairs + (problem.potential == Potential::None ? 0 : bodies)) * linearized;
        instructions += method.force_evaluations * more + (method.instructions + 15) * 3 * bodies;
    }
    if (problem.want_closest) instructions += pairs * (method.adaptive ? 110 : 10);
    if (problem.escape_distance > 0) instructions += 36 * bodies + 8 * pairs;
    constexpr double for_one_in_double_double = 20;
    return problem.double_double ? for_one_in_double_double * instructions : instructions;
}

}  // namespace voltpile::nbody
