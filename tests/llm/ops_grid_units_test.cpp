// GPUs hold IQ1, IQ2 and IQ3 with the bits of a unit in other places than files (ops/cuda/grids/bits.h and
// iq1.h). Read as kernels read them, repacked units have the weights of the file.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "llm/ops/cuda/chosen_bytes.h"
#include "llm/ops/cuda/grids/blocks.h"
#include "llm/ops/cuda/grids/iq1.h"
#include "llm/ops/cuda/grids/words.h"
#include "llm/ops/dequantize.h"
#include "random_blocks.h"

namespace voltpile::llm {
namespace {

// Returns 4 weights of a unit, 4 e to 4 e + 3, in units of their scale. half: where `rest` is in its word.
template <WeightFormat format>
std::uint32_t four_weights(const GridUnit& unit, int e, int half, std::uint32_t flip) {
    static constexpr auto grid = grid_words<format>();
    const std::uint32_t other = 0xffff, own = unit.rest;
    const std::uint32_t rest = half == 0 ? own | other << 16 : other | own << 16;
    if constexpr (gpu_layout(format) == WeightFormat::IQ2_S) {
        const std::uint32_t word = grid.word[iq2_offset(unit.indices[0], rest, half, e / 2) / 4];
        return iq2_weights(word, unit.signs, e / 2, e % 2, flip);
    } else {
        const std::uint32_t word = grid.word[iq3_offset(unit.indices[e / 4], rest, half, e) / 4];
        return iq3_weights(word, unit.signs, e, flip);
    }
}

template <WeightFormat format>
float factor(const GridUnit& unit, int e) {
    constexpr bool iq2 = gpu_layout(format) == WeightFormat::IQ2_S;
    const int scale = unit.rest >> e / 4 * 4 & 15;
    return (0.5F + static_cast<float>(scale)) * (iq2 ? 0.25F : 0.5F);
}

// Four weights, a byte each, and their scale.
struct Four {
    std::uint32_t weights;
    float scale;
};

// of(block, i): weights i to i + 3 of a block of the file.
template <WeightFormat format, class Of>
void expect_weights_of_file(const Of& of) {
    SCOPED_TRACE(std::string(name(format)));
    constexpr std::size_t blocks = 200;
    const auto bytes = random_blocks(format, 11, blocks, 0.03);
    std::vector<float> wanted(blocks * 256), got(blocks * 256);
    dequantize_row(format, bytes.data(), static_cast<std::int64_t>(wanted.size()), wanted.data());
    for (std::size_t i = 0; i < got.size(); i += 4) {
        const auto* block =
            reinterpret_cast<const std::uint8_t*>(bytes.data()) + i / 256 * block_bytes(format);
        const Four four = of(block, static_cast<int>(i % 256));
        for (std::size_t b = 0; b < 4; ++b)
            got[i + b] = four.scale * static_cast<float>(static_cast<std::int8_t>(four.weights >> 8 * b));
    }
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(float)), 0);
}

template <WeightFormat format>
void expect_grid_weights() {
    expect_weights_of_file<format>([](const std::uint8_t* block, int i) {
        const GridUnit unit = grid_unit<format>(block, i / 32);
        const int e = i / 4 % 8;
        const std::uint32_t four = four_weights<format>(unit, e, 0, 0);
        EXPECT_EQ(four, four_weights<format>(unit, e, 1, 0));
        EXPECT_EQ(four ^ 0x80808080u, four_weights<format>(unit, e, 0, 0x80808080u));
        std::uint16_t d = 0;
        std::memcpy(&d, block, sizeof d);
        return Four{four, float_from_half(d) * factor<format>(unit, e)};
    });
}

// Bits beyond the 16 of `high` are those of another row.
template <WeightFormat format>
void expect_iq1_weights() {
    static constexpr auto grid = grid_words<format>();
    expect_weights_of_file<format>([](const std::uint8_t* block, int i) {
        const Iq1Unit unit = iq1_unit<format>(block, i / 32);
        const int g = i / 8 % 4, part = i / 4 % 2;
        const std::uint32_t high = unit.high | 0xffff0000u;
        const std::uint32_t word = grid.word[iq1_offset(unit.indices, high, g) / 4];
        const std::uint32_t four = iq1_weights(word, high, g, part);
        EXPECT_EQ(four ^ 0x80808080u, iq1_weights(word, unit.high, g, part, 0x80808080u));
        const int s = unit.scales >> g / 2 * 4 & 15;
        return Four{four,
                    float_from_half(iq1_block_scale<format>(block)) * (0.5F + static_cast<float>(s)) * 0.25F};
    });
}

// PTX ISA, prmt: the high bit of a nibble of the selector replicates the sign of the byte.
TEST(ChosenBytes, AreBytesOrTheirSigns) {
    EXPECT_EQ(chosen_bytes(0x44332211, 0x88776655, 0x7250), 0x88336611U);
    EXPECT_EQ(chosen_bytes(0x80ff7f01, 0, 0xba98), 0xffff0000U);
    EXPECT_EQ(chosen_bytes(0x01010101, 0xfe027ffe, 0xfc62), 0xffff0201U);
}

TEST(GridUnits, HaveTheWeightsOfTheFile) {
    expect_iq1_weights<WeightFormat::IQ1_S>();
    expect_iq1_weights<WeightFormat::IQ1_M>();
    expect_grid_weights<WeightFormat::IQ2_XXS>();
    expect_grid_weights<WeightFormat::IQ2_XS>();
    expect_grid_weights<WeightFormat::IQ2_S>();
    expect_grid_weights<WeightFormat::IQ3_XXS>();
    expect_grid_weights<WeightFormat::IQ3_S>();
}

}  // namespace
}  // namespace voltpile::llm
