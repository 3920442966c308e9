// Compiled once for each level of instruction sets (voltpile_cpu_kernels). Nothing else belongs in this file:
// see base/simd.h.
#include "llm/ops/cpu/kernels.h"

#include "llm/ops/cpu/amx_tiles.h"
#include "llm/ops/cpu/attention.h"
#include "llm/ops/cpu/integer_product.h"
#include "llm/ops/cpu/product.h"
#include "llm/ops/cpu/quantize.h"
#include "llm/ops/cpu/row_kernels.h"
#include "llm/ops/cpu/scaled_rows.h"

namespace voltpile::llm {

template <>
CpuKernels compiled_cpu_kernels<simd_level>() {
    using IntegerProduct = void (*)(const Product&);
#if defined(__AVX512F__)
    constexpr IntegerProduct integers = integer_product<NoTiles>, amx = integer_product<AmxTiles>;
#elif defined(__AVX2__)
    constexpr IntegerProduct integers = integer_product<NoTiles>, amx = nullptr;
#else
    constexpr IntegerProduct integers = nullptr, amx = nullptr;
#endif
    return {simd_level, product<>,    integers, amx,      quantize, rows_for_panel, group,
            attention,  add_rms_norm, gate,     soft_cap, to_half,  scaled_rows};
}

}  // namespace voltpile::llm
