// The kernel. Compiled once for each level of instruction sets (voltpile_cpu_kernels). Nothing else belongs
// in this file: see base/simd.h.
#include "ode/block.h"
#include "ode/cpu_targets.h"

namespace voltpile::ode {
namespace {

void sweep(const Problem& problem, PointStream& stream, double* memory) {
    Block block(problem, stream, memory);
    block.sweep();
}

template <Op op>
void compute_pack(double* to, const double* a_at, const double* b_at) {
    const Pack a = Pack::load(a_at);
    if constexpr (op == Op::Sin) sine(a).store(to);
    if constexpr (op == Op::Cos) cosine(a).store(to);
    if constexpr (op == Op::Exp) exponential(a).store(to);
    if constexpr (op == Op::Log) natural_logarithm(a).store(to);
    if constexpr (op == Op::Tanh) hyperbolic_tangent(a).store(to);
    if constexpr (op == Op::Atan) arc_tangent(a).store(to);
    if constexpr (op == Op::Atan2) angle_of_point(a, Pack::load(b_at)).store(to);
    if constexpr (op == Op::Power) general_power(a, Pack::load(b_at)).store(to);
}

}  // namespace

template <>
PackFunction compiled_function<simd_level>(Op op) {
    switch (op) {
        case Op::Sin:
            return compute_pack<Op::Sin>;
        case Op::Cos:
            return compute_pack<Op::Cos>;
        case Op::Exp:
            return compute_pack<Op::Exp>;
        case Op::Log:
            return compute_pack<Op::Log>;
        case Op::Tanh:
            return compute_pack<Op::Tanh>;
        case Op::Atan:
            return compute_pack<Op::Atan>;
        case Op::Atan2:
            return compute_pack<Op::Atan2>;
        case Op::Power:
            return compute_pack<Op::Power>;
        default:
            return nullptr;
    }
}

template <>
CpuSweep compiled_cpu_sweep<simd_level>() {
    return sweep;
}

}  // namespace voltpile::ode
