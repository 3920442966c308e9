// The kernels for AVX-512 (Skylake-SP, Zen 4 and newer). This file must not define anything else, see
// lanes.h.
#define VOLTPILE_TARGET avx512
#define VOLTPILE_LANE_BYTES 64
#include "llm/ops/cpu/product.h"
#include "llm/ops/cpu/row_kernels.h"

namespace voltpile::llm {

CpuKernels cpu_kernels_avx512() {
    return {"AVX-512", product, attention, add_rms_norm, gate, to_half};
}

}  // namespace voltpile::llm
