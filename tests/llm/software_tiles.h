#pragma once

#include "llm/ops/cpu/kernels.h"

namespace voltpile::llm {

// Like CpuKernels::amx_product. Needs CpuLevel::Avx512 and VNNI.
void software_tile_product(const Product& p);

}  // namespace voltpile::llm
