// Random weights, made block by block: any block can be made by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// The key of a tensor's random numbers.
std::uint64_t tensor_key(std::uint64_t seed, std::string_view tensor_name);

// Blocks [first_block, first_block + count) of a tensor, its blocks counted row after row. The weights have
// mean 0 (to a hundredth of their spread) and standard deviation `deviation`, which is at least 1e-4; scales
// are within what quantizers write. Formats: F32, F16, Q8_0, Q4_0, Q4_K, Q5_K, Q6_K; throws
// std::invalid_argument for BF16.
void make_blocks(WeightFormat format, std::uint64_t key, std::uint64_t first_block, std::size_t count,
                 double deviation, std::byte* out);

// Elements [first, first + count) of a vector in F32, uniform within mean +- spread.
void make_vector(std::uint64_t key, std::uint64_t first, std::size_t count, float mean, float spread,
                 std::byte* out);

}  // namespace voltpile::llm
