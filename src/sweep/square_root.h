// Square roots, correctly rounded on every processor.
#pragma once

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

VOLTPILE_HD double square_root(double x) {
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(x);
#else
    return __builtin_sqrt(x);
#endif
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
