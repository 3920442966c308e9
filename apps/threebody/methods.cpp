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

Method method_named(std::string_view name) {
    for (int i = 0; const MethodInfo& method : table) {
        if (method.name == name) return static_cast<Method>(i);
        ++i;
    }
    throw std::logic_error("threebody has no integrator " + std::string(name));
}

}  // namespace voltpile::threebody
