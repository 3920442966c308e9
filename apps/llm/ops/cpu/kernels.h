// The inner loops of CpuOps, compiled once for each level of instruction sets (base/cpu_level.h). They run on
// the calling thread. They sum in fp32, in an order that depends only on the level and the number of columns,
// so a row's result is bit-identical for any other rows and any division of the work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cpu_level.h"
#include "llm/model/kv_element.h"
#include "llm/model/layer_blocks.h"
#include "llm/model/weight_format.h"
#include "llm/ops/cpu/quantized_block.h"

namespace voltpile::llm {

// Columns that one partial sum covers, and matrix rows in a panel. A panel is a part of the matrix that is
// expanded to fp32 if x has enough rows to make that pay (rows_for_panel).
constexpr std::int64_t product_columns = 1024;
constexpr std::int64_t product_weights = 32;

// Scratch of integer_product: an unpacked part of the matrix, aligned to 64 bytes.
constexpr std::int64_t integer_panel_bytes = 12288;

// out[r, j - begin] = sum_c x[r, c] * w[j, c] for begin <= j < end and all rows r of x.
struct Product {
    WeightFormat format{};
    const std::byte* w = nullptr;  // the matrix; integer_product: its strips (strip_layout.h)
    std::int64_t row_bytes = 0;    // from row to row; integer_product: of a row of the format
    std::int64_t columns = 0;
    std::int64_t begin = 0;  // integer_product: the first row of a strip
    std::int64_t end = 0;
    const float* x = nullptr;  // (rows, columns)
    std::int64_t rows = 0;
    float* out = nullptr;
    std::int64_t out_stride = 0;
    // x in groups (row_groups.h), for products by panels; nullptr: weights are read from their blocks.
    const float* groups = nullptr;
    float* panel = nullptr;  // scratch: product_weights * product_columns
    // Of integer_product only.
    const QuantizedBlock* quantized = nullptr;  // x; its rows are quantized_stride(columns) blocks apart
    std::byte* integer_panel = nullptr;         // scratch: integer_panel_bytes
    float* sums = nullptr;  // scratch: rows * (end - begin), rounded up to product_weights
};

// The formats that integer_product has.
inline constexpr std::array kIntegerProductFormats = {
    WeightFormat::Q8_0,   WeightFormat::Q4_0,  WeightFormat::Q4_K,    WeightFormat::Q5_K,
    WeightFormat::Q6_K,   WeightFormat::Q4_1,  WeightFormat::Q5_0,    WeightFormat::Q5_1,
    WeightFormat::IQ4_NL, WeightFormat::Q2_K,  WeightFormat::Q3_K,    WeightFormat::IQ4_XS,
    WeightFormat::MXFP4,  WeightFormat::IQ1_S, WeightFormat::IQ1_M,   WeightFormat::IQ2_XXS,
    WeightFormat::IQ2_XS, WeightFormat::IQ2_S, WeightFormat::IQ3_XXS, WeightFormat::IQ3_S,
    WeightFormat::UINT4};
constexpr bool has_integer_product(WeightFormat format) {
    for (const WeightFormat each : kIntegerProductFormats)
        if (each == format) return true;
    return false;
}

// out[r][j] = or, if `adds`, += sum_k x[r, k] * w[k, j], for 0 <= k < count, begin <= j < end, and all rows
// r. The sum of an output depends neither on the other rows nor on `begin` and `end`, if these are multiples
// of scaled_columns or the last columns.
constexpr std::int64_t scaled_columns = 64;
struct ScaledRows {
    const float* w = nullptr;  // (count, stride)
    std::int64_t stride = 0;
    std::int64_t count = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const float* x = nullptr;  // (rows, x_stride)
    std::int64_t x_stride = 0;
    float* const* out = nullptr;  // (rows)
    std::int64_t rows = 0;
    bool adds = false;
};

// The numbers of scratch that a row and head need for the scores of `keys` keys: a margin on either side.
constexpr std::int64_t attention_margin = 16;
constexpr std::int64_t attention_scores(std::int64_t keys) {
    return (keys + 15) / 16 * 16 + 2 * attention_margin;
}

// Attention of adjacent rows of a sequence and the `group` query heads that share a KV head.
struct AttentionRows {
    const float* q = nullptr;  // (rows, group, head_dim), q_stride from row to row
    float* out = nullptr;      // likewise, with out_stride
    std::int64_t q_stride = 0;
    std::int64_t out_stride = 0;
    int rows = 1;
    int group = 0;
    int head_dim = 0;
    KvElement element = KvElement::F16;
    const void* keys = nullptr;  // the KV head's keys in page 0
    const void* values = nullptr;
    const void* key_scales = nullptr;  // if the element is quantized: the KV head's scales in page 0
    const void* value_scales = nullptr;
    std::int64_t page_stride = 0;         // from page to page, in tokens: kv_heads * kv_page_tokens
    const std::int32_t* pages = nullptr;  // the sequence's row of the page table
    int position = 0;                     // of the first row: the last key it attends to
    int window = 0;                       // attend to so many keys at most; 0: to all
    float scale = 1;                      // factor of the scores
    float soft_cap = 0;                   // see AttentionSettings
    const float* sinks = nullptr;         // (group), or nullptr; see AttentionSettings
    float* page = nullptr;                // scratch: kv_page_tokens * head_dim
    float* scores = nullptr;  // scratch: rows * group * attention_scores(keys of all rows together)

    // The first and the last position that row r attends to.
    int first_of(int r) const { return window > 0 && last_of(r) >= window ? last_of(r) - window + 1 : 0; }
    int last_of(int r) const { return position + r; }
};

struct CpuKernels {
    CpuLevel level;
    void (*product)(const Product&);
    // The same for packed weights of kIntegerProductFormats, from quantized activations. nullptr: the
    // level has none, and `product` multiplies all formats; otherwise it has only the others.
    void (*integer_product)(const Product&);
    // integer_product with AMX: the same bits. nullptr: the level has none.
    void (*amx_product)(const Product&);
    // Quantizes a row. columns: a multiple of quantized_columns.
    void (*quantize)(const float* x, std::int64_t columns, QuantizedBlock* to);
    // The fewest rows for which `product` with weights of a format is faster by panels.
    std::int64_t (*rows_for_panel)(WeightFormat);
    // Writes (rows, columns) with up to rows_of_group rows as a group of numbers_of_group(columns).
    void (*group)(const float* x, std::int64_t rows, std::int64_t columns, float* to);
    void (*attention)(const AttentionRows&);
    // x += delta + bias (unless nullptr); out = x * weight / sqrt(mean(x^2) + eps), or x if weight is
    // nullptr; returns the mean. out may be x.
    float (*add_rms_norm)(float* x, const float* delta, const float* bias, const float* weight, float eps,
                          std::int64_t columns, float* out);
    // gate[i] = activation(gate[i]) * up[i], see Activation
    void (*gate)(Activation activation, float* gate, const float* up, std::int64_t count);
    // values[i] = cap * tanh(values[i] / cap)
    void (*soft_cap)(float* values, std::int64_t count, float cap);
    void (*to_half)(const float* from, std::uint16_t* to, std::int64_t count);
    void (*scaled_rows)(const ScaledRows&);
};

// Whether products with these weights are made of integers; CpuOps packs such weights at loading.
inline bool by_integers(const CpuKernels& kernels, WeightFormat format) {
    return kernels.integer_product != nullptr && has_integer_product(format);
}

// Whether these products use AMX.
inline bool with_amx(const CpuKernels& kernels) {
    return kernels.amx_product != nullptr && kernels.integer_product == kernels.amx_product;
}

// Defined in kernels.cpp, which is compiled once for each level.
template <CpuLevel level>
CpuKernels compiled_cpu_kernels();
template <>
CpuKernels compiled_cpu_kernels<CpuLevel::Baseline>();
template <>
CpuKernels compiled_cpu_kernels<CpuLevel::Avx2>();
template <>
CpuKernels compiled_cpu_kernels<CpuLevel::Avx512>();

// level: one of usable_cpu_levels().
inline CpuKernels cpu_kernels(CpuLevel level) {
    const auto of = []<CpuLevel compiled>() { return compiled_cpu_kernels<compiled>(); };
    CpuKernels kernels = at_cpu_level(level, of);
    if (level == CpuLevel::Avx512 && !has_avx512_vnni())
        kernels.integer_product = at_cpu_level(CpuLevel::Avx2, of).integer_product;  // the same bits
    else if (kernels.amx_product != nullptr && may_use_amx())
        kernels.integer_product = kernels.amx_product;
    return kernels;
}

}  // namespace voltpile::llm
