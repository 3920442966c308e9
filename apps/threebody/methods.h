// Looks up integrators by name and number.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "threebody/method_info.h"
#include "threebody/method_table.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Returns all integrators, indexed by Method.
std::span<const MethodInfo> methods();

const MethodInfo& info(Method method);

// Returns the FP64 or FP32 instructions of a step of a pair, in the precision of the problem.
int instructions_of(const Problem& problem);

// name: one of the choices of the job key integrate.method. Throws std::logic_error for any other.
Method method_named(std::string_view name);

// Returns the name under which `voltpile calibrate` keeps the rate of a method: "threebody euler fp64".
std::string measured_rate_name(Method method, bool single_precision);

}  // namespace voltpile::threebody
