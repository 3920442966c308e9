// Compares bit for bit with the gguf Python package (data/llm/goldens/make_dequant.py).
#include "llm/ops/dequantize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace voltpile::llm {
namespace {

std::vector<char> contents(const std::string& name) {
    std::ifstream file(VOLTPILE_SOURCE_DIR "/data/llm/goldens/dequant/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Dequantize, BlocksAreBitIdenticalToTheGgufPackage) {
    for (const auto& [format, name] : {std::pair{WeightFormat::Q8_0, "q8_0"},
                                       {WeightFormat::Q4_0, "q4_0"},
                                       {WeightFormat::Q4_K, "q4_k"},
                                       {WeightFormat::Q5_K, "q5_k"},
                                       {WeightFormat::Q6_K, "q6_k"}}) {
        const auto blocks = contents(std::string(name) + ".blocks");
        const auto wanted = contents(std::string(name) + ".f32");
        const std::size_t columns = blocks.size() / block_bytes(format) * block_size(format);
        ASSERT_GE(columns, 10 * block_size(format)) << name;
        ASSERT_EQ(columns * sizeof(float), wanted.size()) << name;
        std::vector<float> got(columns);
        dequantize_row(format, reinterpret_cast<const std::byte*>(blocks.data()),
                       static_cast<std::int64_t>(columns), got.data());
        EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size()), 0) << name;
    }
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
