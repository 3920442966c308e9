// Compiled once for each level of instruction sets (voltpile_cpu_kernels). Nothing else belongs in this file:
// see base/simd.h.
#include "llm/ops/cpu/kernels.h"

#include "llm/ops/cpu/integer_product.h"
#include "llm/ops/cpu/product.h"
#include "llm/ops/cpu/row_kernels.h"
#include "llm/ops/cpu/scaled_rows.h"

namespace voltpile::llm {

template <>
CpuKernels compiled_cpu_kernels<simd_level>() {
#if defined(__AVX2__)
    constexpr auto integers = integer_product;
#else
    constexpr void (*integers)(const Product&) = nullptr;
#endif
    return {simd_level,   product<>, integers, quantize, attention,
            add_rms_norm, gate,      soft_cap, to_half,  scaled_rows};
}

}  // namespace voltpile::llm
