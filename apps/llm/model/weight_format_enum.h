// The storage formats of weights. weight_format.h has their table; GPU kernels compile faster without it.
#pragma once

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
    IQ3_S
};

// Returns the format whose layout in GPU memory, and so whose kernels, a format has that differs from it only
// in its grid.
constexpr WeightFormat gpu_layout(WeightFormat format) {
    switch (format) {
        case WeightFormat::IQ2_XXS:
        case WeightFormat::IQ2_XS:
            return WeightFormat::IQ2_S;
        case WeightFormat::IQ3_XXS:
            return WeightFormat::IQ3_S;
        default:
            return format;
    }
}

}  // namespace voltpile::llm
