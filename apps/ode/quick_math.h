// Divisions and square roots in two kinds with the same bits. On GPUs both are sequences of multiply-adds
// after an approximation, which are right unless an exponent is extreme. A branch for those cases after every
// operation would keep the sequences from running beside each other: QuickMath only notes that there was one.
#pragma once

#include <cstdint>

#include "sweep/select.h"
#include "sweep/square_root.h"

namespace voltpile::ode {
inline namespace VOLTPILE_TARGET {

// Returns a b + c, rounded once.
VOLTPILE_HD double fused(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
    return __fma_rn(a, b, c);
#else
    return __builtin_fma(a, b, c);
#endif
}

struct ExactMath {
    VOLTPILE_HD double quotient(double a, double b) const { return a / b; }
    VOLTPILE_HD double root(double x) const { return square_root(x); }
};

// While `sound`, all results so far are those of ExactMath.
struct QuickMath {
    bool sound = true;

    // By Newton's iteration for 1/b and Markstein's correction of the quotient (P. W. Markstein, IBM J. Res.
    // Dev. 34, 111 (1990)), where a is 0 or at least 2^-969, and b and a/b are neither tiny nor huge.
    VOLTPILE_HD double quotient(double a, double b) {
#if defined(__CUDA_ARCH__)
        double r = 0;
        asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
        r = __hiloint2double(__double2hiint(r), 1);
        double e = __fma_rn(-b, r, 1.0);
        e = __fma_rn(e, e, e);
        r = __fma_rn(r, e, r);
        e = __fma_rn(-b, r, 1.0);
        r = __fma_rn(r, e, r);
        const double q = __dmul_rn(a, r);
        const double better = __fma_rn(r, __fma_rn(-b, q, a), q);
        const bool zero = (bits_of(a) << 1) == 0;
        // The upper half of a double as a float has its sign and the upper bits of its exponent. FP32 units
        // are idle.
        const float a_high = __int_as_float(__double2hiint(a)), b_high = __int_as_float(__double2hiint(b));
        const float tested = __int_as_float(__double2hiint(zero ? r : better));
        sound &= zero | (fabsf(a_high) >= __int_as_float(0x03600000));
        sound &= fabsf(__fmaf_rn(0.0f, b_high, tested)) > __int_as_float(0x00100000);
        return zero ? q : better;
#else
        const double q = a / b;
        sound &= (bits_of(a) << 1) == 0 || (exponent_of(a) >= 0x036 && is_moderate(q));
        sound &= is_moderate(b);
        return q;
#endif
    }

    // In the same way, for 0 and numbers from 2^-970 on.
    VOLTPILE_HD double root(double x) {
#if defined(__CUDA_ARCH__)
        double y = 0;
        asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
        const double e = __fma_rn(x, -__dmul_rn(y, y), 1.0);
        y = __fma_rn(__fma_rn(e, 0.375, 0.5), __dmul_rn(y, e), y);
        const double s = __dmul_rn(x, y);
        const double half = __hiloint2double(__double2hiint(y) - 0x00100000, __double2loint(y));
        const double better = __fma_rn(__fma_rn(s, -s, x), half, s);
        const bool zero = (bits_of(x) << 1) == 0;
        sound &= zero | (static_cast<unsigned>(__double2hiint(x)) - 0x03500000u < 0x7ca00000u);
        return zero ? x : better;
#else
        sound &= (bits_of(x) << 1) == 0 || (x > 0 && exponent_of(x) >= 0x035 && exponent_of(x) < 0x7ff);
        return square_root(x);
#endif
    }

  private:
    static VOLTPILE_HD unsigned exponent_of(double x) {
        return static_cast<unsigned>(bits_of(x) >> 52) & 0x7ff;
    }
    // Whether the number is from 2^-1022 to 2^1017.
    static VOLTPILE_HD bool is_moderate(double x) {
        return exponent_of(x) >= 1 && exponent_of(x) < 0x7f8;
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::ode
