// Synthetic weights do not depend on the part that is read, and have the given standard deviation.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "llm/model/synthetic_blocks.h"
#include "llm/model/synthetic_model.h"
#include "llm/ops/dequantize.h"

namespace voltpile::llm {
namespace {

TEST(SyntheticModel, PartsEqualTheWhole) {
    for (const char* mixture : {"f16", "q8_0", "q4_0", "q4_k_m", "q5_k_m"}) {
        const SyntheticModel model("tiny", mixture);
        for (const char* name : {"output.weight", "blk.1.ffn_down.weight", "blk.2.ffn_down.weight"}) {
            const ModelTensor& tensor = model.tensor(name);
            std::vector<std::byte> all(tensor.bytes());
            model.read(tensor, whole(tensor), all.data());
            const TensorSlice slice{3, 20, 0, 256};
            std::vector<std::byte> part(slice.bytes(tensor.format));
            model.read(tensor, slice, part.data());
            const std::size_t row = row_bytes(tensor.format, tensor.columns),
                              own = row_bytes(tensor.format, 256);
            for (std::size_t i = 0; i < slice.rows(); ++i)
                ASSERT_EQ(std::memcmp(part.data() + i * own, all.data() + (i + 3) * row, own), 0) << name;
        }
    }
}

// Several threads generate large parts, one thread single rows.
TEST(SyntheticModel, ThreadsGenerateTheSameRows) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    const ModelTensor& tensor = model.tensor("blk.3.ffn_up.weight");
    for (const std::size_t columns : {std::size_t{4096}, std::size_t{2048}}) {
        const TensorSlice many{7, 1507, 0, columns};
        const std::size_t own = row_bytes(tensor.format, columns);
        std::vector<std::byte> all(many.bytes(tensor.format)), row(own);
        model.read(tensor, many, all.data());
        for (const std::size_t i : {0, 1, 187, 188, 750, 1311, 1499}) {
            model.read(tensor, {7 + i, 8 + i, 0, columns}, row.data());
            ASSERT_EQ(std::memcmp(row.data(), all.data() + i * own, own), 0) << i;
        }
    }
}

TEST(SyntheticModel, WeightsDependOnSeedAndName) {
    const SyntheticModel a("tiny", "q8_0", 1), same("tiny", "q8_0", 1), b("tiny", "q8_0", 2);
    const auto bytes = [](const SyntheticModel& model, const char* name) {
        const ModelTensor& tensor = model.tensor(name);
        std::vector<std::byte> all(tensor.bytes());
        model.read(tensor, whole(tensor), all.data());
        return all;
    };
    EXPECT_EQ(bytes(a, "blk.0.attn_k.weight"), bytes(same, "blk.0.attn_k.weight"));
    EXPECT_NE(bytes(a, "blk.0.attn_k.weight"), bytes(b, "blk.0.attn_k.weight"));
    EXPECT_NE(bytes(a, "blk.0.attn_k.weight"), bytes(a, "blk.1.attn_k.weight"));
    EXPECT_EQ(a.fingerprint(), same.fingerprint());
    EXPECT_NE(a.fingerprint(), b.fingerprint());
}

double half(const std::byte* bytes) {  // a positive normal or subnormal number
    std::uint16_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
}

TEST(SyntheticBlocks, Q8HasTheGivenDeviation) {
    constexpr std::size_t kBlocks = 4000;
    std::vector<std::byte> blocks(kBlocks * block_bytes(WeightFormat::Q8_0));
    make_blocks(WeightFormat::Q8_0, tensor_key(1, "t"), 0, kBlocks, 0.015, blocks.data());
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < kBlocks; ++i) {
        const std::byte* block = blocks.data() + i * block_bytes(WeightFormat::Q8_0);
        for (int j = 0; j < 32; ++j) {
            const double weight = half(block) * static_cast<std::int8_t>(block[2 + j]);
            sum += weight;
            squares += weight * weight;
        }
    }
    constexpr double kCount = 32.0 * kBlocks;
    // 128,000 samples: relative errors of 1/sqrt(2 * 128000) = 0.2 % at one sigma; fp16 of d adds up to 0.05
    // %.
    EXPECT_NEAR(std::sqrt(squares / kCount), 0.015, 0.015 * 0.01);
    EXPECT_NEAR(sum / kCount, 0, 0.015 * 0.02);
}

// As above, with the error of 128,000 samples and of fp16 scales.
TEST(SyntheticBlocks, OtherFormatsHaveTheGivenDeviation) {
    constexpr std::size_t count = 128000;
    for (const WeightFormat format :
         {WeightFormat::Q5_0, WeightFormat::Q5_1, WeightFormat::IQ4_NL, WeightFormat::IQ4_XS,
          WeightFormat::Q3_K, WeightFormat::Q2_K, WeightFormat::NF4, WeightFormat::FP4, WeightFormat::IQ1_S,
          WeightFormat::IQ2_XXS, WeightFormat::IQ2_XS, WeightFormat::IQ2_S, WeightFormat::IQ3_XXS,
          WeightFormat::IQ3_S, WeightFormat::UINT4, WeightFormat::F8_E4M3}) {
        const std::size_t block_count = count / block_size(format);
        std::vector<std::byte> blocks(block_count * block_bytes(format));
        make_blocks(format, tensor_key(1, "t"), 0, block_count, 0.015, blocks.data());
        std::vector<float> weights(count);
        dequantize_row(format, blocks.data(), count, weights.data());
        double sum = 0, squares = 0;
        for (const float weight : weights) {
            sum += static_cast<double>(weight);
            squares += static_cast<double>(weight) * static_cast<double>(weight);
        }
        EXPECT_NEAR(std::sqrt(squares / count), 0.015, 0.015 * 0.01) << name(format);
        EXPECT_NEAR(sum / count, 0, 0.015 * 0.02) << name(format);
    }
}

TEST(SyntheticModel, UsesSmallerBlocksForRowsThatAreNotWholeOnes) {
    const SyntheticModel model("deepseek-v2-lite", "q4_k_m");  // experts of 1408 elements
    EXPECT_EQ(model.tensor("blk.3.ffn_down.0.weight").format, WeightFormat::Q5_0);
    EXPECT_EQ(model.tensor("blk.3.ffn_up.0.weight").format, WeightFormat::Q4_K);
}

// llama.cpp has more bits for attn_v of 70B models in mixtures of 3 bits and more.
TEST(SyntheticModel, HasTheMixturesOfLlamaCpp) {
    for (const char* mixture : {"iq1_s", "iq2_xs", "iq2_m"})
        EXPECT_EQ(SyntheticModel("llama-3-70b", mixture).tensor("blk.5.attn_v.weight").format,
                  WeightFormat::Q4_K);
    EXPECT_EQ(SyntheticModel("llama-3-70b", "iq3_s").tensor("blk.5.attn_v.weight").format,
              WeightFormat::Q5_K);
}

// Of every mixture, also where rows are whole blocks of it.
TEST(SyntheticModel, MakesWeightsInAllMixtures) {
    for (const QuantMixtureInfo& mixture : kSyntheticMixtures) {
        const SyntheticModel model("llama-3-8b", mixture.name);
        for (const ModelTensor& tensor : model.tensors()) {
            if (tensor.layer > 1) continue;
            const TensorSlice slice{0, 1, 0, tensor.columns};
            std::vector<std::byte> row(slice.bytes(tensor.format));
            EXPECT_NO_THROW(model.read(tensor, slice, row.data())) << mixture.name << ' ' << tensor.name;
        }
    }
}

TEST(SyntheticModel, RejectsUnknownNames) {
    EXPECT_THROW(SyntheticModel("llama-4", "q8_0"), JobError);
    EXPECT_THROW(SyntheticModel("tiny", "q3_k_l"), JobError);
}

}  // namespace
}  // namespace voltpile::llm
