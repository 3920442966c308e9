// What the program knows about an integrator besides its arithmetic. Each integrator's file has one; nothing
// outside these files depends on the method.
#pragma once

namespace voltpile::threebody {

// Threads of a GPU block: as many as the registers per lane allow with one block per multiprocessor.
struct GpuThreads {
    int fp64 = 512;             // the forces' constants are the same for all points
    int fp64_own_forces = 384;  // each lane has its own
    int fp32 = 640;
    int double_double = 256;
};

struct MethodInfo {
    const char* name;  // as in integrate.method
    int order;
    int force_evaluations;  // in a step
    bool symplectic;
    // Each pair of systems chooses its own steps, so that errors stay below integrate.tolerance.
    bool adaptive = false;
    // Of an adaptive method: positions are those of ChainMotion.
    bool chain = false;
    // Instructions in the type that it computes in that the GPU kernel's loop spends on a step of a pair; a
    // fused multiply-add counts as one. docs/numerics.md has the count, docs/benchmarks.md the comparison
    // with the machine code.
    int instructions;
    GpuThreads threads;
    const char* help;  // a clause for the table of keys
    // Its coefficients are exact in double-double, so that it can compute in it.
    bool double_double = false;
};

// Parts of MethodInfo::instructions, for both systems of a pair.
inline constexpr int forces_instructions =
    2 * 3 * (3 + 3 + 6 + 6);  // distance, its square, impulse, two kicks
inline constexpr int weighted_forces_instructions = forces_instructions + 2 * 3;
inline constexpr int drift_instructions = 2 * 9;
inline constexpr int separation_instructions = 3 + 3 + 1;

}  // namespace voltpile::threebody
