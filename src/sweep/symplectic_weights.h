// The lengths of drifts and kicks of symplectic methods, in steps.
#pragma once

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Three leapfrogs of lengths w1, w0, w1 (H. Yoshida, Construction of higher order symplectic integrators,
// Physics Letters A 150, 262-268, 1990).
struct Yoshida4Weights {
    static constexpr double w1 = 1.3512071919596577;   // 1 / (2 - 2^(1/3))
    static constexpr double w0 = -1.7024143839193153;  // 1 - 2 w1
};

// The symplectic Runge-Kutta-Nystrom method of order 6 with 14 stages, SRKN14a of S. Blanes and P. C. Moan
// (Practical symplectic partitioned Runge-Kutta and Runge-Kutta-Nystrom methods, Journal of Computational and
// Applied Mathematics 142, 313-330, 2002): drifts of lengths a1, a2, ..., a2, a1 around kicks b1, ..., b1. It
// uses that forces depend only on positions, so at equal cost its error is 100 times smaller than that of
// Yoshida's composition of order 6.
struct SymplecticNystrom6Weights {
    static constexpr int stages = 14;

    // Both are symmetric: drift_weight(i) = drift_weight(14 - i), kick_weight(i) = kick_weight(13 - i). The
    // last of each table follows from the sum of 1.
    static VOLTPILE_HD constexpr double drift_weight(int i) {
        constexpr double a[7] = {0.0378593198406116,  0.102635633102435,  -0.0258678882665587,
                                 0.314241403071447,   -0.130144459517415, 0.106417700369543,
                                 -0.00879424312851058};
        const int k = i > 7 ? stages - i : i;
        return k < 7 ? a[k] : 1 - 2 * (a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6]);
    }
    static VOLTPILE_HD constexpr double kick_weight(int i) {
        constexpr double b[6] = {0.09171915262446165,  0.183983170005006, -0.05653436583288827,
                                 0.004914688774712854, 0.143761127168358, 0.328567693746804};
        const int k = i > 6 ? stages - 1 - i : i;
        return k < 6 ? b[k] : 0.5 - (b[0] + b[1] + b[2] + b[3] + b[4] + b[5]);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
