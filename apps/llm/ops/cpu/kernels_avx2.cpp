// The kernels for AVX2 with fused multiply-add (Haswell, Zen and newer). Nothing else belongs into this file:
// see cpu_lanes.h.
#define VOLTPILE_TARGET avx2
#define VOLTPILE_LANE_BYTES 32
#include "llm/ops/cpu/product.h"
#include "llm/ops/cpu/row_kernels.h"

namespace voltpile::llm {

CpuKernels cpu_kernels_avx2() {
    return {"AVX2", product, attention, add_rms_norm, gate, to_half};
}

}  // namespace voltpile::llm
