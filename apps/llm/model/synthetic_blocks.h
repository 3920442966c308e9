// Generates random weights block by block, each block independently of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// Returns the key of a tensor's random numbers.
std::uint64_t tensor_key(std::uint64_t seed, std::string_view tensor_name);

// Generates blocks [first_block, first_block + count) of a tensor, counted row after row. The weights have
// mean 0, to a hundredth of their spread, and standard deviation `deviation`, at least 1e-4; scales are in
// the range that quantizers write. Throws std::invalid_argument for BF16, Q4_1 and IQ1_M.
void make_blocks(WeightFormat format, std::uint64_t key, std::uint64_t first_block, std::size_t count,
                 double deviation, std::byte* out);

// Generates elements [first, first + count) of an F32 vector, uniform in mean +- spread.
void make_vector(std::uint64_t key, std::uint64_t first, std::size_t count, float mean, float spread,
                 std::byte* out);

}  // namespace voltpile::llm
