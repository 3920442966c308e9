// The list of the storage formats of weights, with names and numbers as in GGUF; NF4 and FP4 are those of
// bitsandbytes, UINT4 has the integers and zero points of GPTQ and AWQ, F8_E4M3 is FP8. Whatever differs
// between formats without being code is here and nowhere else. docs/add_a_model.md says how to add a format.
// Sources of GPU kernels include this header, so it stays small; weight_format.h has the functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace voltpile::llm {

// Quantized formats store a row as consecutive blocks. No block crosses the end of a row.
enum class WeightFormat {
    F32,
    F16,
    BF16,
    Q8_0,
    Q4_0,
    Q4_K,
    Q5_K,
    Q6_K,
    Q4_1,
    Q5_0,
    Q5_1,
    IQ4_NL,
    Q2_K,
    Q3_K,
    IQ4_XS,
    MXFP4,
    IQ1_S,
    IQ1_M,
    IQ2_XXS,
    IQ2_XS,
    IQ2_S,
    IQ3_XXS,
    IQ3_S,
    NF4,
    FP4,
    UINT4,
    F8_E4M3
};

// Bytes of a row's planes in GPU memory (ops/cuda/matrix.h): of 32 weights, and in `super` of 256.
struct UnitBytes {
    int quants = 0, high = 0, scales = 0, super = 0;
};

// How tiled products bring weights to tensor cores on GPUs with 228 KB of shared memory (tile_product.cuh):
// by loads to registers, or staged in shared memory by asynchronous copies, so that more blocks fit and more
// bytes are under way.
enum class TileLoads { Direct, Staged };

// How GPUs hold the weights of a format.
struct OnGpu {
    enum class Kernels {
        Own,     // has kernels of its own: ops/cuda/formats, or product_f16.cu
        Shared,  // has the planes and the kernels of `other`, from which it differs only in its grid
        None     // is converted to `other`: exactly (ops/convert_row.h), or rounded from F32 and BF16 to F16
    };
    Kernels kernels = Kernels::None;
    WeightFormat other = WeightFormat::F16;
    UnitBytes unit{};
    // Rows of x above which cuBLAS is faster than tiles (measured).
    int most_kernel_rows = 0;
    TileLoads tile_loads = TileLoads::Direct;
    // Whether matrix-vector products take x in fp16, and not in fixed point: weights that are
    // not integers.
    bool takes_halves = false;
};
constexpr OnGpu with_kernels(UnitBytes unit, int most_kernel_rows, TileLoads tile_loads = TileLoads::Direct) {
    return {OnGpu::Kernels::Own, WeightFormat::F16, unit, most_kernel_rows, tile_loads};
}
constexpr OnGpu with_kernels_of_halves(UnitBytes unit, int most_kernel_rows) {
    OnGpu gpu = with_kernels(unit, most_kernel_rows);
    gpu.takes_halves = true;
    return gpu;
}
constexpr OnGpu with_kernels_of(WeightFormat other) {
    return {OnGpu::Kernels::Shared, other};
}
constexpr OnGpu converted_to(WeightFormat other) {
    return {OnGpu::Kernels::None, other};
}

struct WeightFormatInfo {
    WeightFormat format;
    const char* name;
    std::optional<std::uint32_t> gguf_type;  // number of the tensor type in a GGUF file; none: not in GGUF
    std::size_t block_size;                  // weights in a block
    std::size_t block_bytes;                 // bytes of a block
    OnGpu gpu;
};

inline constexpr auto kWeightFormats = [] {
    using enum WeightFormat;
    using enum TileLoads;
    return std::array{
        WeightFormatInfo{F32, "F32", 0, 1, 4, converted_to(F16)},
        WeightFormatInfo{F16, "F16", 1, 1, 2, with_kernels_of_halves({64}, 4)},
        WeightFormatInfo{BF16, "BF16", 30, 1, 2, converted_to(F16)},
        WeightFormatInfo{Q8_0, "Q8_0", 8, 32, 34, with_kernels({32, 0, 2}, 320)},
        WeightFormatInfo{Q4_0, "Q4_0", 2, 32, 18, with_kernels({16, 0, 2}, 320)},
        WeightFormatInfo{Q4_K, "Q4_K", 12, 256, 144, with_kernels({16, 0, 2, 4}, 192, Staged)},
        WeightFormatInfo{Q5_K, "Q5_K", 13, 256, 176, with_kernels({16, 4, 2, 4}, 192, Staged)},
        WeightFormatInfo{Q6_K, "Q6_K", 14, 256, 210, with_kernels({16, 8, 2, 2}, 192, Staged)},
        WeightFormatInfo{Q4_1, "Q4_1", 3, 32, 20, converted_to(Q5_1)},
        WeightFormatInfo{Q5_0, "Q5_0", 6, 32, 22, converted_to(Q8_0)},
        WeightFormatInfo{Q5_1, "Q5_1", 7, 32, 24, with_kernels({16, 4, 4}, 192)},
        WeightFormatInfo{IQ4_NL, "IQ4_NL", 20, 32, 18, with_kernels({16, 0, 2}, 192)},
        WeightFormatInfo{Q2_K, "Q2_K", 10, 256, 84, with_kernels({8, 0, 2, 4}, 192, Staged)},
        WeightFormatInfo{Q3_K, "Q3_K", 11, 256, 110, with_kernels({8, 4, 2, 2}, 192, Staged)},
        WeightFormatInfo{IQ4_XS, "IQ4_XS", 23, 256, 136, with_kernels({16, 0, 1, 2}, 192)},
        WeightFormatInfo{MXFP4, "MXFP4", 39, 32, 17, with_kernels({16, 0, 1}, 192)},
        WeightFormatInfo{IQ1_S, "IQ1_S", 19, 256, 50, with_kernels({4, 2, 1, 2}, 192, Staged)},
        WeightFormatInfo{IQ1_M, "IQ1_M", 29, 256, 56, with_kernels_of(IQ1_S)},
        WeightFormatInfo{IQ2_XXS, "IQ2_XXS", 16, 256, 66, with_kernels_of(IQ2_S)},
        WeightFormatInfo{IQ2_XS, "IQ2_XS", 17, 256, 74, with_kernels_of(IQ2_S)},
        WeightFormatInfo{IQ2_S, "IQ2_S", 22, 256, 82, with_kernels({4, 4, 2, 2}, 192, Staged)},
        WeightFormatInfo{IQ3_XXS, "IQ3_XXS", 18, 256, 98, with_kernels_of(IQ3_S)},
        WeightFormatInfo{IQ3_S, "IQ3_S", 21, 256, 110, with_kernels({8, 4, 2, 2}, 192, Staged)},
        WeightFormatInfo{NF4, "NF4", std::nullopt, 64, 36, with_kernels({16, 0, 2}, 192)},
        WeightFormatInfo{FP4, "FP4", std::nullopt, 64, 36, with_kernels({16, 0, 2}, 192)},
        WeightFormatInfo{UINT4, "UINT4", std::nullopt, 32, 20, with_kernels({16, 0, 4}, 192)},
        WeightFormatInfo{F8_E4M3, "F8_E4M3", std::nullopt, 64, 68, with_kernels_of_halves({32, 0, 2}, 192)},
    };
}();
static_assert([] {
    for (std::size_t i = 0; i < kWeightFormats.size(); ++i)
        if (kWeightFormats[i].format != static_cast<WeightFormat>(i)) return false;
    return true;
}());

constexpr const WeightFormatInfo& info(WeightFormat format) {
    return kWeightFormats[static_cast<std::size_t>(format)];
}
constexpr bool takes_halves(WeightFormat format) {
    return info(format).gpu.takes_halves;
}
// Returns the format in which GPUs hold the weights.
constexpr WeightFormat gpu_format(WeightFormat format) {
    const OnGpu& gpu = info(format).gpu;
    return gpu.kernels == OnGpu::Kernels::None ? gpu.other : format;
}
// Returns the format whose planes and kernels a format has that GPUs hold.
constexpr WeightFormat gpu_layout(WeightFormat format) {
    const OnGpu& gpu = info(format).gpu;
    return gpu.kernels == OnGpu::Kernels::Shared ? gpu.other : format;
}

}  // namespace voltpile::llm
