// Runs programs on a block of lanes: each instruction on all of them, SIMD register by SIMD register. Only
// for sources that voltpile_cpu_kernels compiles.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "ode/functions.h"
#include "ode/problem.h"
#include "sweep/simd_select.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

VOLTPILE_INLINE Simd<double> square_root(Simd<double> x) {
#if defined(__AVX512F__)
    return _mm512_sqrt_pd(x.v);
#elif defined(__AVX2__)
    return _mm256_sqrt_pd(x.v);
#elif defined(__SSE2__)
    return _mm_sqrt_pd(x.v);
#else
    Simd<double> root;
    for (int i = 0; i < Simd<double>::lanes; ++i) root.set_lane(i, __builtin_sqrt(x.lane(i)));
    return root;
#endif
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile

namespace voltpile::ode {
inline namespace VOLTPILE_TARGET {

using Pack = Simd<double>;
constexpr int kPacks = kBlockLanes / Pack::lanes;

// The largest whole number that is not above x.
VOLTPILE_INLINE Pack whole_part(Pack x) {
    // Numbers of 2^52 and more are whole; others become so when 2^52 is added.
    const Pack shift(4503599627370496.0), size = magnitude(x);
    const Pack near = (size + shift) - shift;
    const Pack sign = number_of(bits_of(x) & Simd<std::uint64_t>(std::uint64_t{0x8000000000000000}));
    const Pack nearest = number_of(bits_of(near) | bits_of(sign));
    const Pack below = select_below(x, nearest, nearest - Pack(1.0), nearest);
    return select_below(size, shift, below, x);
}

// Runs a program on some packs. base: the registers of the first one, a SIMD register each; those of the
// next pack are `stride` numbers later.
template <int count>
__attribute__((noinline)) static void run_program(ProgramView program, double* base, std::ptrdiff_t stride,
                                                  int packs) {
    const int n = count > 0 ? count : packs;
    const Pack zero(0.0), one(1.0);
    for (int i = 0; i < program.size; ++i) {
        const Instruction instruction = program.code[i];
        double* const to = base + static_cast<std::ptrdiff_t>(instruction.to) * Pack::lanes;
        const double* const pa = base + static_cast<std::ptrdiff_t>(instruction.a) * Pack::lanes;
        const double* const pb = base + static_cast<std::ptrdiff_t>(instruction.b) * Pack::lanes;
        const double* const pc = base + static_cast<std::ptrdiff_t>(instruction.c) * Pack::lanes;
#define VOLTPILE_A const Pack a = Pack::load(pa + k * stride)
#define VOLTPILE_B const Pack b = Pack::load(pb + k * stride)
#define VOLTPILE_C const Pack c = Pack::load(pc + k * stride)
#define VOLTPILE_EACH(operands, result)                   \
    for (int k = 0; k < n; ++k) {                         \
        operands;                                         \
        static_cast<Pack>(result).store(to + k * stride); \
    }                                                     \
    break
#define VOLTPILE_UNARY(op, result) \
    case Op::op:                   \
        VOLTPILE_EACH(VOLTPILE_A, result)
#define VOLTPILE_BINARY(op, result) \
    case Op::op:                    \
        VOLTPILE_EACH(VOLTPILE_A; VOLTPILE_B, result)
#define VOLTPILE_TERNARY(op, result) \
    case Op::op:                     \
        VOLTPILE_EACH(VOLTPILE_A; VOLTPILE_B; VOLTPILE_C, result)
        switch (instruction.op) {
            case Op::Constant:
            case Op::Symbol:
                break;
                VOLTPILE_UNARY(Copy, a);
                VOLTPILE_BINARY(Add, a + b);
                VOLTPILE_BINARY(Subtract, a - b);
                VOLTPILE_BINARY(Multiply, a * b);
                VOLTPILE_BINARY(Divide, a / b);
                VOLTPILE_UNARY(Negate, -a);
                VOLTPILE_UNARY(Sqrt, square_root(a));
                VOLTPILE_UNARY(Abs, magnitude(a));
                VOLTPILE_UNARY(Floor, whole_part(a));
                VOLTPILE_UNARY(Sin, sine(a));
                VOLTPILE_UNARY(Cos, cosine(a));
                VOLTPILE_UNARY(Exp, exponential(a));
                VOLTPILE_UNARY(Log, natural_logarithm(a));
                VOLTPILE_UNARY(Tanh, hyperbolic_tangent(a));
                VOLTPILE_UNARY(Atan, arc_tangent(a));
                VOLTPILE_BINARY(Atan2, angle_of_point(a, b));
                VOLTPILE_BINARY(Power, general_power(a, b));
                VOLTPILE_BINARY(Min, smaller(a, b));
                VOLTPILE_BINARY(Max, larger(a, b));
                VOLTPILE_BINARY(Less, select_below(a, b, one, zero));
                VOLTPILE_BINARY(NotAbove, select_not_above(a, b, one, zero));
                // Neither below nor above 0: NaN chooses b, as every number but 0.
                VOLTPILE_TERNARY(Select, select_not_above(magnitude(a), zero, c, b));
                VOLTPILE_TERNARY(MultiplyAdd, fma(a, b, c));
                VOLTPILE_TERNARY(MultiplySubtract, fma(a, b, -c));
                VOLTPILE_TERNARY(SubtractMultiply, fnma(a, b, c));
        }
#undef VOLTPILE_A
#undef VOLTPILE_B
#undef VOLTPILE_C
#undef VOLTPILE_EACH
#undef VOLTPILE_UNARY
#undef VOLTPILE_BINARY
#undef VOLTPILE_TERNARY
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::ode
