// The kernels for AVX2 with FMA and F16C (Haswell, Zen and newer). This file must not define anything else,
// see lanes.h.
#define VOLTPILE_TARGET avx2
#define VOLTPILE_LANE_BYTES 32
#include "llm/ops/cpu/product.h"
#include "llm/ops/cpu/row_kernels.h"

namespace voltpile::llm {

CpuKernels cpu_kernels_avx2() {
    return {"AVX2", product, attention, add_rms_norm, gate, to_half};
}

}  // namespace voltpile::llm
