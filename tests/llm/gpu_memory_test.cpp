// Compares the GPU memory of weights with the definition of the layout (ops/cuda/matrix.h) and with an
// allocator that rounds as CUDA's does.
#include "llm/model/gpu_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "device/slab_memory.h"
#include "llm/model/model_memory.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/tensor_parallel.h"
#include "llm/model/weight_format.h"

namespace voltpile::llm {
namespace {

// Bits of a weight in GPU memory, from the definition of each format: those of its number, and those that it
// shares with others.
constexpr struct {
    WeightFormat format;
    double bits;
} kBits[] = {
    {WeightFormat::F32, 16},
    {WeightFormat::F16, 16},
    {WeightFormat::BF16, 16},
    // A 16-bit scale per 32 weights.
    {WeightFormat::Q8_0, 8 + 16.0 / 32},
    {WeightFormat::Q4_0, 4 + 16.0 / 32},
    {WeightFormat::IQ4_NL, 4 + 16.0 / 32},
    {WeightFormat::Q5_0, 8 + 16.0 / 32},  // as Q8_0
    // An 8-bit scale and an 8-bit minimum per 32 weights, and two 16-bit numbers per 256. Files pack the
    // former into 6 bits.
    {WeightFormat::Q4_K, 4 + 16.0 / 32 + 32.0 / 256},
    {WeightFormat::Q5_K, 5 + 16.0 / 32 + 32.0 / 256},
    {WeightFormat::Q6_K, 6 + 8.0 / 16 + 16.0 / 256},    // as in files
    {WeightFormat::Q2_K, 2 + 8.0 / 16 + 32.0 / 256},    // as in files
    {WeightFormat::Q3_K, 3 + 8.0 / 16 + 16.0 / 256},    // scales of 6 bits in files
    {WeightFormat::IQ4_XS, 4 + 8.0 / 32 + 16.0 / 256},  // scales of 6 bits in files
    {WeightFormat::MXFP4, 4 + 8.0 / 32},                // as in files
    {WeightFormat::Q5_1, 5 + 32.0 / 32},                // as in files
    {WeightFormat::Q4_1, 5 + 32.0 / 32},                // as Q5_1
    // Indices of 11 bits and the sign of an offset for 8 weights, 8 bits of scales per 32, and a 16-bit
    // number per 256. Files have fewer bits of scales, those of IQ1_S also of signs.
    {WeightFormat::IQ1_S, 12.0 / 8 + 8.0 / 32 + 16.0 / 256},
    {WeightFormat::IQ1_M, 12.0 / 8 + 8.0 / 32 + 16.0 / 256},
    // Indices of 10 bits for 8 weights or of 9 bits for 4, signs, 8 bits of scales per 32 weights, and a
    // 16-bit number per 256. Files of IQ2_XXS, IQ2_XS and IQ3_XXS have fewer bits of indices, signs and
    // scales.
    {WeightFormat::IQ2_XXS, 10.0 / 8 + 1 + 8.0 / 32 + 16.0 / 256},
    {WeightFormat::IQ2_XS, 10.0 / 8 + 1 + 8.0 / 32 + 16.0 / 256},
    {WeightFormat::IQ2_S, 10.0 / 8 + 1 + 8.0 / 32 + 16.0 / 256},
    {WeightFormat::IQ3_XXS, 9.0 / 4 + 1 + 8.0 / 32 + 16.0 / 256},
    {WeightFormat::IQ3_S, 9.0 / 4 + 1 + 8.0 / 32 + 16.0 / 256},
    // A 32-bit scale per 64 weights.
    {WeightFormat::NF4, 4 + 32.0 / 64},
    {WeightFormat::FP4, 4 + 32.0 / 64},
    {WeightFormat::F8_E4M3, 8 + 32.0 / 64},
    // A 16-bit scale and a 16-bit zero point per 32 weights.
    {WeightFormat::UINT4, 4 + 32.0 / 32},
};

TEST(GpuMemory, CountsBitsPerWeight) {
    constexpr std::size_t weights = 512 * 1024;
    for (const WeightFormatInfo& entry : kWeightFormats) {
        const auto* wanted = std::ranges::find(kBits, entry.format, [](const auto& of) { return of.format; });
        ASSERT_NE(wanted, std::end(kBits)) << entry.name;
        EXPECT_EQ(8.0 * static_cast<double>(gpu_bytes(entry.format, 512, 1024)) / weights, wanted->bits)
            << entry.name;
    }
}

TEST(GpuMemory, PadsMatricesAndVectors) {
    EXPECT_EQ(gpu_bytes(WeightFormat::F16, 5, 33), 8U * 64 * 2);  // rows to 4, columns to 32
    EXPECT_EQ(gpu_bytes(WeightFormat::Q8_0, 2, 64), 256U + 256);  // planes to 256 bytes
    EXPECT_EQ(gpu_bytes(WeightFormat::F16, 1, 100), 512U);        // a vector: 400 bytes of fp32
}

// The plan for the fullest rank equals the size of its matrices in one allocation, which CUDA rounds up to
// 2 MiB. The plan also counts vectors, which are allocated separately: less than 0.1 %.
TEST(GpuMemory, MatricesTakeThePlannedMemory) {
    constexpr std::size_t cuda_rounding = 2 << 20;
    struct Cut {
        const char *shape, *quant;
        int ranks;
    };
    for (const Cut& cut : {Cut{"llama-3-8b", "q8_0", 1},
                           {"llama-3-8b", "q8_0", 2},
                           {"llama-3-8b", "q8_0", 4},
                           {"llama-3-8b", "q4_k_m", 1},
                           {"llama-3-8b", "f16", 2},
                           {"llama-3-70b", "q5_k_m", 1},
                           {"llama-3-70b", "q5_k_m", 2},
                           {"llama-3-70b", "q5_k_m", 4},
                           {"qwen-2.5-7b", "f16", 1},
                           {"qwen-2.5-7b", "f16", 4}}) {
        const SyntheticModel model(cut.shape, cut.quant);
        std::uintptr_t next = cuda_rounding;
        std::size_t held = 0;
        SlabMemory slabs(
            SlabMemory::default_slab_bytes,
            [&](std::size_t bytes) {
                const std::size_t taken = (bytes + cuda_rounding - 1) / cuda_rounding * cuda_rounding;
                held += taken;
                next += taken;
                return reinterpret_cast<void*>(next - taken);  // never dereferenced
            },
            [](void*) {});
        const std::vector<double> one(1, 1.0);
        const std::uint64_t planned =
            cut_into_stages(model, WeightLayout::Gpu, cut.ranks, one).front().weights;
        slabs.expect(planned);
        std::vector<SlabMemory::Piece> pieces;
        std::uint64_t used = 0;
        for (const ModelTensor& tensor : model.tensors()) {
            if (tensor.rows == 1) continue;
            const TensorSlice slice =
                tensor_shard(model, tensor, rank_share(model, cut.ranks - 1, cut.ranks)).stored;
            pieces.push_back(slabs.allocate(gpu_bytes(tensor.format, static_cast<std::int64_t>(slice.rows()),
                                                      static_cast<std::int64_t>(slice.columns()))));
            used += pieces.back().bytes();
        }
        EXPECT_LE(held, planned + cuda_rounding) << cut.shape << ' ' << cut.quant << ' ' << cut.ranks;
        EXPECT_NEAR(static_cast<double>(used), static_cast<double>(planned),
                    1e-3 * static_cast<double>(planned))
            << cut.shape << ' ' << cut.quant << ' ' << cut.ranks;
    }
}

}  // namespace
}  // namespace voltpile::llm
