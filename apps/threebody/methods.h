// Looks up integrators by name and number.
#pragma once

#include <span>
#include <string_view>

#include "threebody/method_info.h"
#include "threebody/method_table.h"

namespace voltpile::threebody {

// Returns all integrators, indexed by Method.
std::span<const MethodInfo> methods();

const MethodInfo& info(Method method);

// name: one of the choices of the job key integrate.method. Throws std::logic_error for any other.
Method method_named(std::string_view name);

}  // namespace voltpile::threebody
