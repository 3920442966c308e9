// A job as plain data, the input of the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ode/program.h"
#include "sweep/parameter_source.h"

namespace voltpile::ode {

struct ProgramView {
    const Instruction* code = nullptr;
    int size = 0;
};

struct ConstantRegister {
    int to = 0;
    double value = 0;
};

struct SourceRegister {
    int to = 0;
    ParameterSource source;
};

// A step as machine code. registers: those of a pack of lanes, a SIMD register each. Takes at most `turns`
// steps in which none of the lanes, a bit each, has an alarm. Returns how many turns are left, which is more
// than 0 if the step after the last one taken has an alarm; it is then in the registers from `moving` on.
using StepCode = int (*)(double* registers, int turns, unsigned lanes);

// Registers 0 to `moving` - 1 hold what changes from step to step, the states first; the same number of
// registers from `moving` on hold what follows.
struct Problem {
    // From the parameters and the size of a step to all that depends on nothing else.
    ProgramView setup;
    // From the initial states to everything that moves, and to `fired`.
    ProgramView start;
    // One step: writes the registers from `moving` on, `alarm` and `fired`.
    ProgramView step;
    ProgramView outputs;  // writes output_count registers from first_output on, then `lyapunov`

    const ConstantRegister* constants = nullptr;
    int constant_count = 0;
    const SourceRegister* sources = nullptr;
    int source_count = 0;

    StepCode step_code = nullptr;  // the same as `step`, if there is any

    int registers = 0;
    int named = 0;  // of these; the others hold constants and intermediate values
    int moving = 0;
    int time = 0, steps = 0, step_size = 0;
    int limit = 0;  // largest squared error of a step that is taken; adaptive methods only
    int most_steps = 0;
    int alarm = 0;   // not 0 where a lane needs more than another step
    int fired = 0;   // 1, 2, ...: the first event that holds; 0: none
    int finite = 0;  // 0 where all next states are finite, else NaN
    int too_small = 0;
    int first_output = 0, output_count = 0;
    int lyapunov = 0;

    bool adaptive = false;
    double t_begin = 0, t_end = 0;
    double dt = 0;  // of fixed steps
    double whole_steps = 0;
    double max_steps = 0;
    double operations_per_step = 1;
};

// How many numbers after a pack of lanes the next one begins: an odd number of cache lines, so that packs do
// not share their places in the cache.
inline std::ptrdiff_t pack_stride(const Problem& problem, int lanes) {
    constexpr std::ptrdiff_t line = 8;
    const std::ptrdiff_t lines = (static_cast<std::ptrdiff_t>(problem.registers) * lanes + line - 1) / line;
    return (lines | 1) * line;
}

// Lanes of a block. A whole number of SIMD registers of every level.
inline constexpr int kBlockLanes = 64;

}  // namespace voltpile::ode
