// The format of each tensor in a quantized GGUF file, by the rules of llama.cpp's llama-quantize.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "llm/model/model_config.h"
#include "llm/model/model_tensor.h"

namespace voltpile::llm {

enum class QuantMixture {
    F16,
    Q8_0,
    Q4_0,
    Q4_K_M,
    Q5_K_M,
    BF16,
    Q4_1,
    Q5_0,
    Q5_1,
    Q2_K,
    Q2_K_S,
    Q3_K_S,
    Q3_K_M,
    Q3_K_L,
    Q4_K_S,
    Q5_K_S,
    Q6_K,
    IQ4_NL,
    IQ4_XS,
    MXFP4_MOE,
    IQ1_S,
    IQ2_XS,
    IQ2_M,
    IQ3_S,
    NF4,
    UINT4,
    F8_E4M3,
};

// Of mixtures that GGUF files cannot hold.
inline constexpr std::uint32_t kNoFileType = ~std::uint32_t{0};

struct QuantMixtureInfo {
    QuantMixture mixture;
    std::string_view name;    // as on the command line
    WeightFormat base;        // of most tensors
    std::uint32_t file_type;  // general.file_type in GGUF
};

inline constexpr std::array<QuantMixtureInfo, 27> kQuantMixtures = {{
    {QuantMixture::F16, "f16", WeightFormat::F16, 1},
    {QuantMixture::Q8_0, "q8_0", WeightFormat::Q8_0, 7},
    {QuantMixture::Q4_0, "q4_0", WeightFormat::Q4_0, 2},
    {QuantMixture::Q4_K_M, "q4_k_m", WeightFormat::Q4_K, 15},
    {QuantMixture::Q5_K_M, "q5_k_m", WeightFormat::Q5_K, 17},
    {QuantMixture::BF16, "bf16", WeightFormat::BF16, 32},
    {QuantMixture::Q4_1, "q4_1", WeightFormat::Q4_1, 3},
    {QuantMixture::Q5_0, "q5_0", WeightFormat::Q5_0, 8},
    {QuantMixture::Q5_1, "q5_1", WeightFormat::Q5_1, 9},
    {QuantMixture::Q2_K, "q2_k", WeightFormat::Q2_K, 10},
    {QuantMixture::Q2_K_S, "q2_k_s", WeightFormat::Q2_K, 21},
    {QuantMixture::Q3_K_S, "q3_k_s", WeightFormat::Q3_K, 11},
    {QuantMixture::Q3_K_M, "q3_k_m", WeightFormat::Q3_K, 12},
    {QuantMixture::Q3_K_L, "q3_k_l", WeightFormat::Q3_K, 13},
    {QuantMixture::Q4_K_S, "q4_k_s", WeightFormat::Q4_K, 14},
    {QuantMixture::Q5_K_S, "q5_k_s", WeightFormat::Q5_K, 16},
    {QuantMixture::Q6_K, "q6_k", WeightFormat::Q6_K, 18},
    {QuantMixture::IQ4_NL, "iq4_nl", WeightFormat::IQ4_NL, 25},
    {QuantMixture::IQ4_XS, "iq4_xs", WeightFormat::IQ4_XS, 30},
    {QuantMixture::MXFP4_MOE, "mxfp4_moe", WeightFormat::Q8_0, 38},
    {QuantMixture::IQ1_S, "iq1_s", WeightFormat::IQ1_S, 24},
    {QuantMixture::IQ2_XS, "iq2_xs", WeightFormat::IQ2_XS, 20},
    {QuantMixture::IQ2_M, "iq2_m", WeightFormat::IQ2_S, 29},
    {QuantMixture::IQ3_S, "iq3_s", WeightFormat::IQ3_S, 26},
    {QuantMixture::NF4, "nf4", WeightFormat::NF4, kNoFileType},
    {QuantMixture::UINT4, "uint4", WeightFormat::UINT4, kNoFileType},
    {QuantMixture::F8_E4M3, "f8_e4m3", WeightFormat::F8_E4M3, kNoFileType},
}};

constexpr const QuantMixtureInfo& info(QuantMixture mixture) {
    return kQuantMixtures[static_cast<std::size_t>(mixture)];
}

// Those to which models can be quantized, and those that synthetic models have.
inline constexpr std::span<const QuantMixtureInfo> kWrittenMixtures = std::span(kQuantMixtures).first(19);
inline constexpr std::array kSyntheticMixtures = {
    info(QuantMixture::F16),       info(QuantMixture::Q8_0),   info(QuantMixture::Q4_0),
    info(QuantMixture::Q4_K_M),    info(QuantMixture::Q5_K_M), info(QuantMixture::Q3_K_M),
    info(QuantMixture::Q2_K),      info(QuantMixture::IQ4_NL), info(QuantMixture::IQ4_XS),
    info(QuantMixture::MXFP4_MOE), info(QuantMixture::IQ1_S),  info(QuantMixture::IQ2_XS),
    info(QuantMixture::IQ2_M),     info(QuantMixture::IQ3_S),  info(QuantMixture::NF4),
    info(QuantMixture::UINT4),     info(QuantMixture::F8_E4M3)};

// Returns the format of a tensor. Vectors and routers stay in F32. The head is in Q6_K in all mixtures below
// 8 bits, and in Q5_K in those below 3, whose embeddings are in Q2_K or IQ3_S. NF4, UINT4 and F8_E4M3 are
// those of folders, which leave embeddings and the head as they are. The others have tensors in more bits
// than their base: attn_v, ffn_down and, below 4 bits, attn_output; those of Q4_K_M and Q5_K_M in the first
// and last eighth of the layers and every third between; those of IQ4_NL and IQ4_XS are ffn_down of the first
// eighth and, with grouped heads, attn_v in Q5_K. Models of 80 layers with grouped heads have attn_v in Q5_K
// instead of Q3_K and Q4_K; models with 8 experts have attn_k and attn_v in Q8_0 and attn_output in Q5_K.
// MXFP4_MOE has experts in MXFP4 and all others in Q8_0. importance: whether an importance matrix guides the
// quantization. Rows that are not whole blocks of that format get one with smaller blocks: Q4_0 for Q2_K and
// Q3_K (llama.cpp: IQ4_NL, of the same size), IQ4_NL for IQ1 to IQ4_XS, Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0
// for Q6_K and, if these do not fit either, F16.
WeightFormat mixture_format_or_fallback(QuantMixture mixture, const ModelTensor& tensor,
                                        const ModelConfig& config, bool importance = false);

// Returns one of kWrittenMixtures by its name in lower or upper case; nothing for other names.
std::optional<QuantMixture> find_mixture(std::string_view name);

// Returns the names of `mixtures`, separated by commas.
std::string mixture_names(std::span<const QuantMixtureInfo> mixtures);

}  // namespace voltpile::llm
