// The kernels for the instructions that every CPU of the architecture has.
#define VOLTPILE_TARGET baseline
#define VOLTPILE_LANE_BYTES 16
#include "llm/ops/cpu/product.h"
#include "llm/ops/cpu/row_kernels.h"

namespace voltpile::llm {

CpuKernels cpu_kernels_baseline() {
    return {"baseline", product, attention, add_rms_norm, gate, to_half};
}

}  // namespace voltpile::llm
