// The storage formats of weights and the layout of their blocks, with names and numbers as in GGUF.
//
// A new format needs a name in weight_format_enum.h, a line and a gpu_format() here, its definition in
// ops/dequantize.cpp and its loads in ops/cpu/formats_32.h or formats_256.h. GPUs hold it as one of the
// formats that they have kernels for (some share kernels: gpu_layout()); ops/convert_row.cpp converts,
// exactly where that format can express all of its weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "llm/model/weight_format_enum.h"

namespace voltpile::llm {

struct WeightFormatInfo {
    WeightFormat format;
    std::string_view name;
    std::uint32_t gguf_type;  // number of the tensor type in a GGUF file
    std::size_t block_size;   // weights in a block
    std::size_t block_bytes;  // bytes of a block
};

inline constexpr std::array<WeightFormatInfo, 23> kWeightFormats = {{
    {WeightFormat::F32, "F32", 0, 1, 4},
    {WeightFormat::F16, "F16", 1, 1, 2},
    {WeightFormat::BF16, "BF16", 30, 1, 2},
    {WeightFormat::Q8_0, "Q8_0", 8, 32, 34},
    {WeightFormat::Q4_0, "Q4_0", 2, 32, 18},
    {WeightFormat::Q4_K, "Q4_K", 12, 256, 144},
    {WeightFormat::Q5_K, "Q5_K", 13, 256, 176},
    {WeightFormat::Q6_K, "Q6_K", 14, 256, 210},
    {WeightFormat::Q4_1, "Q4_1", 3, 32, 20},
    {WeightFormat::Q5_0, "Q5_0", 6, 32, 22},
    {WeightFormat::Q5_1, "Q5_1", 7, 32, 24},
    {WeightFormat::IQ4_NL, "IQ4_NL", 20, 32, 18},
    {WeightFormat::Q2_K, "Q2_K", 10, 256, 84},
    {WeightFormat::Q3_K, "Q3_K", 11, 256, 110},
    {WeightFormat::IQ4_XS, "IQ4_XS", 23, 256, 136},
    {WeightFormat::MXFP4, "MXFP4", 39, 32, 17},
    {WeightFormat::IQ1_S, "IQ1_S", 19, 256, 50},
    {WeightFormat::IQ1_M, "IQ1_M", 29, 256, 56},
    {WeightFormat::IQ2_XXS, "IQ2_XXS", 16, 256, 66},
    {WeightFormat::IQ2_XS, "IQ2_XS", 17, 256, 74},
    {WeightFormat::IQ2_S, "IQ2_S", 22, 256, 82},
    {WeightFormat::IQ3_XXS, "IQ3_XXS", 18, 256, 98},
    {WeightFormat::IQ3_S, "IQ3_S", 21, 256, 110},
}};
static_assert([] {
    for (std::size_t i = 0; i < kWeightFormats.size(); ++i)
        if (kWeightFormats[i].format != static_cast<WeightFormat>(i)) return false;
    return true;
}());

constexpr const WeightFormatInfo& info(WeightFormat format) {
    return kWeightFormats[static_cast<std::size_t>(format)];
}

constexpr std::string_view name(WeightFormat format) {
    return info(format).name;
}
constexpr std::size_t block_size(WeightFormat format) {
    return info(format).block_size;
}
constexpr std::size_t block_bytes(WeightFormat format) {
    return info(format).block_bytes;
}
// Returns the format in which GPUs hold the weights.
constexpr WeightFormat gpu_format(WeightFormat format) {
    switch (format) {
        case WeightFormat::F32:
        case WeightFormat::BF16:
        case WeightFormat::IQ1_S:
        case WeightFormat::IQ1_M:
            return WeightFormat::F16;
        case WeightFormat::Q5_0:
            return WeightFormat::Q8_0;
        case WeightFormat::Q4_1:
            return WeightFormat::Q5_1;
        default:
            return format;
    }
}

// Returns the bytes of a row. columns: a multiple of the block size.
constexpr std::size_t row_bytes(WeightFormat format, std::size_t columns) {
    return columns / block_size(format) * block_bytes(format);
}

// Returns the format with a GGUF type number; nothing for unsupported types.
constexpr std::optional<WeightFormat> weight_format_of_gguf_type(std::uint32_t gguf_type) {
    for (const WeightFormatInfo& entry : kWeightFormats)
        if (entry.gguf_type == gguf_type) return entry.format;
    return std::nullopt;
}

}  // namespace voltpile::llm
