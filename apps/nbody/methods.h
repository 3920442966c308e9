// What the program knows about the integrators besides their arithmetic.
#pragma once

#include <span>
#include <string_view>

#include "nbody/problem.h"

namespace voltpile::nbody {

struct MethodInfo {
    const char* name;       // as in integrate.method
    int force_evaluations;  // in a step
    bool adaptive;
    bool double_double;  // whether it computes in double-double, too
    int instructions;    // for a coordinate of a body in a step, without the forces
    const char* help;    // a clause for the table of keys
};

// Indexed by Method.
std::span<const MethodInfo> methods();

const MethodInfo& info(Method method);

// name: one of the choices of the job key integrate.method. Throws std::logic_error for any other.
Method method_named(std::string_view name);

// name: one of the choices of the job key potential.kind. Throws std::logic_error for any other.
Potential potential_named(std::string_view name);

// Whether only CPU cores compute the problem.
bool needs_cores(const Problem& problem);

// Returns the FP64 instructions of a step; a fused multiply-add counts as one.
double instructions_of(const Problem& problem);

}  // namespace voltpile::nbody
