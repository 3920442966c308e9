#include "threebody/methods.h"

#include <stdexcept>
#include <string>

#include "threebody/integrators/all.h"

namespace voltpile::threebody {

namespace {
constexpr MethodInfo table[] = {
#define VOLTPILE_METHOD_INFO(Integrator, file) Integrator::info,
    VOLTPILE_THREEBODY_METHODS(VOLTPILE_METHOD_INFO)
#undef VOLTPILE_METHOD_INFO
};
}  // namespace

std::span<const MethodInfo> methods() {
    return table;
}

const MethodInfo& info(Method method) {
    return table[static_cast<int>(method)];
}

int instructions_of(const Problem& problem) {
    constexpr int for_one_in_double_double = 20;
    const int instructions = info(problem.method).instructions;
    return problem.double_double ? for_one_in_double_double * instructions : instructions;
}

Method method_named(std::string_view name) {
    for (int i = 0; const MethodInfo& method : table) {
        if (method.name == name) return static_cast<Method>(i);
        ++i;
    }
    throw std::logic_error("threebody has no integrator " + std::string(name));
}

std::string measured_rate_name(Method method, bool single_precision) {
    return std::string("threebody ") + info(method).name + (single_precision ? " fp32" : " fp64");
}

}  // namespace voltpile::threebody
