// Looks up methods by name and number.
#pragma once

#include <span>
#include <string_view>

#include "rootmap/problem.h"

namespace voltpile::rootmap {

enum class Kind { Root, Escape, Attractor };

struct MethodInfo {
    const char* name;  // as in map.method
    Kind kind;
    double order;   // of convergence, or degree of growth; 0: there is no smooth count
    bool distance;  // it provides the field distance
    // Floating-point instructions of an iteration: these, and for methods for roots these for each degree of
    // the polynomial.
    int instructions;
    int instructions_per_degree;
    // Clock cycles of an iteration on a core, which waits for the results of its instructions, and for each
    // degree.
    double cycles;
    double cycles_per_degree;
    const char* parameters;  // keys of [map] that it uses, besides start; each followed by a blank
    const char* help;        // a clause for the table of keys
};

// Returns all methods, indexed by Method.
std::span<const MethodInfo> methods();

const MethodInfo& info(Method method);

// name: one of the choices of the job key map.method. Throws std::logic_error for any other.
Method method_named(std::string_view name);

// Returns the instructions of an iteration of the problem, in its precision.
double instructions_of(const Problem& problem);

// Returns the clock cycles of an iteration in the SIMD lanes of a core, or 0 where the number of instructions
// decides.
double core_cycles_of(const Problem& problem);

}  // namespace voltpile::rootmap
