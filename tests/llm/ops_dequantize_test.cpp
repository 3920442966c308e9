// Compares bit for bit with the gguf Python package (data/llm/goldens/make_dequant.py) and with bitsandbytes,
// AutoAWQ and torch (make_packed_blocks.py).
#include "llm/ops/dequantize.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "llm/ops/convert_row.h"

namespace voltpile::llm {
namespace {

std::vector<char> contents(const std::string& name) {
    std::ifstream file(VOLTPILE_SOURCE_DIR "/data/llm/goldens/dequant/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The golden files of a format.
struct GoldenBlocks {
    std::string blocks_name;
    std::vector<char> blocks, weights;
    std::int64_t columns;

    explicit GoldenBlocks(WeightFormat format) {
        for (const char c : name(format)) blocks_name += static_cast<char>(std::tolower(c));
        blocks = contents(blocks_name + ".blocks");
        weights = contents(blocks_name + ".f32");
        columns = static_cast<std::int64_t>(blocks.size() / block_bytes(format) * block_size(format));
    }
    const std::byte* data() const { return reinterpret_cast<const std::byte*>(blocks.data()); }
};

std::vector<WeightFormat> quantized_formats() {
    std::vector<WeightFormat> formats;
    for (const WeightFormatInfo& entry : kWeightFormats)
        if (entry.block_size > 1) formats.push_back(entry.format);
    return formats;
}

TEST(Dequantize, BlocksAreBitIdenticalToOtherPrograms) {
    for (const WeightFormat format : quantized_formats()) {
        const GoldenBlocks golden(format);
        ASSERT_GE(golden.columns, 10 * static_cast<std::int64_t>(block_size(format))) << name(format);
        ASSERT_EQ(static_cast<std::size_t>(golden.columns) * sizeof(float), golden.weights.size());
        std::vector<float> got(static_cast<std::size_t>(golden.columns));
        dequantize_row(format, golden.data(), golden.columns, got.data());
        EXPECT_EQ(std::memcmp(got.data(), golden.weights.data(), golden.weights.size()), 0) << name(format);
    }
}

TEST(ConvertRow, GpuFormatsHaveTheSameWeights) {
    for (const WeightFormat format : quantized_formats()) {
        const GoldenBlocks golden(format);
        const WeightFormat on_gpu = gpu_format(format);
        if (on_gpu == format) continue;
        const auto columns = static_cast<std::size_t>(golden.columns);
        std::vector<std::byte> converted(row_bytes(on_gpu, columns));
        convert_row(format, golden.data(), golden.columns, on_gpu, converted.data());
        std::vector<float> wanted(columns), got(columns);
        std::memcpy(wanted.data(), golden.weights.data(), golden.weights.size());
        dequantize_row(on_gpu, converted.data(), golden.columns, got.data());
        EXPECT_EQ(std::memcmp(got.data(), wanted.data(), columns * sizeof(float)), 0) << name(format);
    }
    EXPECT_THROW(convert_row(WeightFormat::Q8_0, nullptr, 0, WeightFormat::Q4_0, nullptr),
                 std::invalid_argument);
}

TEST(Dequantize, ConvertsUnquantizedFormats) {
    const float f32[] = {1.5F, -0.0F, 3e-45F};
    const std::uint16_t f16[] = {0x3c00, 0xc000, 0x0001, 0x7bff};   // 1, -2, 2^-24, 65504
    const std::uint16_t bf16[] = {0x3f80, 0xc040, 0x0001, 0x7f7f};  // 1, -3, 2^-133, the largest
    float out[4];
    dequantize_row(WeightFormat::F32, reinterpret_cast<const std::byte*>(f32), 3, out);
    EXPECT_EQ(std::memcmp(out, f32, sizeof f32), 0);
    dequantize_row(WeightFormat::F16, reinterpret_cast<const std::byte*>(f16), 4, out);
    EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{1, -2, 0x1p-24F, 65504}));
    dequantize_row(WeightFormat::BF16, reinterpret_cast<const std::byte*>(bf16), 4, out);
    EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{1, -3, 0x1p-133F, 0x1.fep127F}));
}

}  // namespace
}  // namespace voltpile::llm
