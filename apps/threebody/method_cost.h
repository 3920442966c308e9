// Counts the floating-point instructions that the kernels spend on one step of a pair of systems.
#pragma once

#include "threebody/problem.h"

namespace voltpile::threebody {

// Of the CPU kernel for Euler: its seed costs four more floating-point instructions, its longer series two.
constexpr int cpu_instructions_per_pair_step() {
    constexpr int pair_of_bodies = 3 + 3 + 4 + 7 + 6;  // distance, its square, seed, impulse, two kicks
    return 2 * 3 * pair_of_bodies + 2 * 9 + 6;
}

// Of the GPU kernel's loop, in the type that it computes in; a fused multiply-add counts as one.
// docs/numerics.md has the count, docs/benchmarks.md the comparison with the machine code.
constexpr int instructions_per_pair_step(Method method) {
    constexpr int pair_of_bodies = 3 + 3 + 6 + 6;  // distance, its square, impulse, two kicks
    constexpr int forces = 2 * 3 * pair_of_bodies;
    constexpr int drift = 2 * 9;
    constexpr int separation_test = 3 + 3 + 1;
    switch (method) {
        case Method::Euler:
        case Method::Leapfrog:
            return forces + drift + separation_test;
        case Method::Yoshida4:
            return 3 * (forces + 2 * 3 + drift) + separation_test;
        case Method::RungeKutta4:
            return 4 * (forces - 2 * 3 * 6 + 2 * 9 * 2) + 2 * (9 + 18 + 36 + 45) + separation_test;
    }
    return 0;
}

}  // namespace voltpile::threebody
