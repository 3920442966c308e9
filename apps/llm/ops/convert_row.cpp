#include "llm/ops/convert_row.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace voltpile::llm {
namespace {

using ConvertBlock = void (*)(const std::uint8_t* from, std::uint8_t* to);

void q5_0_to_q8_0(const std::uint8_t* from, std::uint8_t* to) {
    std::memcpy(to, from, 2);  // d
    std::uint32_t high = 0;
    std::memcpy(&high, from + 2, sizeof high);
    for (int i = 0; i < 32; ++i) {
        const int low = i < 16 ? from[6 + i] & 15 : from[6 + i - 16] >> 4;
        to[2 + i] = static_cast<std::uint8_t>((low | static_cast<int>(high >> i & 1) << 4) - 16);
    }
}

void q4_1_to_q5_1(const std::uint8_t* from, std::uint8_t* to) {
    std::memcpy(to, from, 4);   // d, m
    std::memset(to + 4, 0, 4);  // fifth bits
    std::memcpy(to + 8, from + 4, 16);
}

struct Conversion {
    WeightFormat from, to;
    ConvertBlock convert;
};
constexpr std::array<Conversion, 2> conversions = {{
    {WeightFormat::Q5_0, WeightFormat::Q8_0, q5_0_to_q8_0},
    {WeightFormat::Q4_1, WeightFormat::Q5_1, q4_1_to_q5_1},
}};

}  // namespace

void convert_row(WeightFormat from, const std::byte* row, std::int64_t columns, WeightFormat to,
                 std::byte* out) {
    for (const Conversion& conversion : conversions) {
        if (conversion.from != from || conversion.to != to) continue;
        const auto blocks = static_cast<std::size_t>(columns) / block_size(from);
        for (std::size_t b = 0; b < blocks; ++b)
            conversion.convert(reinterpret_cast<const std::uint8_t*>(row) + b * block_bytes(from),
                               reinterpret_cast<std::uint8_t*>(out) + b * block_bytes(to));
        return;
    }
    throw std::invalid_argument(fmt::format("no conversion from {} to {}", name(from), name(to)));
}

}  // namespace voltpile::llm
