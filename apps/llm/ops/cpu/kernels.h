// The inner loops of CpuOps, compiled once for each instruction set, and the choice among them. Each works on
// the calling thread. Sums are in fp32, in an order that depends on the instruction set and the columns
// alone: a row's result is the same to the bit whatever the other rows are and however work is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/model/kv_element.h"
#include "llm/model/weight_format.h"

namespace voltpile::llm {

// Columns that are summed as one, and weights (rows of a matrix) that are expanded to fp32 together, where
// there are enough rows of x to make that worth it.
constexpr std::int64_t product_columns = 1024;
constexpr std::int64_t product_weights = 32;

// out[r, j - begin] = sum_c x[r, c] * w[j, c] for begin <= j < end, all rows r.
struct Product {
    WeightFormat format{};
    const std::byte* w = nullptr;
    std::int64_t row_bytes = 0;
    std::int64_t columns = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const float* x = nullptr;  // (rows, columns)
    std::int64_t rows = 0;
    float* out = nullptr;
    std::int64_t out_stride = 0;
    float* panel = nullptr;  // for the kernel: product_weights * product_columns
};

// One row's attention with the query heads that share a head of keys and values.
struct AttentionRow {
    const float* q = nullptr;  // (group, head_dim)
    float* out = nullptr;      // (group, head_dim)
    int group = 0;
    int head_dim = 0;
    KvElement element = KvElement::F16;
    const void* keys = nullptr;  // of the kv head in page 0
    const void* values = nullptr;
    const float* key_scales = nullptr;  // the same of an I8 cache
    const float* value_scales = nullptr;
    std::int64_t page_stride = 0;  // tokens
    const std::int32_t* pages = nullptr;
    int first = 0;  // positions, both included
    int last = 0;
    float scale = 1;
    float* scores = nullptr;  // for the kernel: group * (last - first + 1 + 64)
};

struct CpuKernels {
    std::string_view name;  // "AVX2"
    void (*product)(const Product&);
    void (*attention)(const AttentionRow&);
    // x += delta (unless nullptr); out = x * weight / sqrt(mean(x^2) + eps); returns the mean.
    float (*add_rms_norm)(float* x, const float* delta, const float* weight, float eps, std::int64_t columns,
                          float* out);
    // gate[i] = silu(gate[i]) * up[i]
    void (*gate)(float* gate, const float* up, std::int64_t count);
    void (*to_half)(const float* from, std::uint16_t* to, std::int64_t count);
};

CpuKernels cpu_kernels_baseline();
CpuKernels cpu_kernels_avx2();    // with FMA and F16C
CpuKernels cpu_kernels_avx512();  // F, BW, DQ, VL

// Those that this processor and operating system can run, widest first; never empty.
std::vector<CpuKernels> usable_cpu_kernels();

}  // namespace voltpile::llm
