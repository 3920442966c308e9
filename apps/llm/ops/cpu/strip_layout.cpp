#include "llm/ops/cpu/strip_layout.h"

#include <cstring>
#include <type_traits>

namespace voltpile::llm {
namespace {

// Calls body(offset, bytes) for each unit of a block. bytes: the constant 4, or the number of those of the
// shorter unit.
template <class Body>
void for_each_unit(const WeightFormatInfo& format, const Body& body) {
    const std::size_t left = format.block_bytes % 4;
    const bool first = format.block_size == 32;
    if (left != 0) body(first ? 0 : format.block_bytes - left, left);
    for (std::size_t offset = first ? left : 0; offset + 4 <= format.block_bytes; offset += 4)
        body(offset, std::integral_constant<std::size_t, 4>());
}

}  // namespace

void pack_strip(WeightFormat format, const std::byte* from, std::size_t stride, std::int64_t rows,
                std::int64_t columns, std::byte* to) {
    const WeightFormatInfo& of = info(format);
    const auto count = static_cast<std::size_t>(rows);
    const std::size_t blocks = static_cast<std::size_t>(columns) / of.block_size;
    if (rows < strip_rows) std::memset(to, 0, bytes_in_strips(format, strip_rows, columns));
    for (std::size_t b = 0; b < blocks; ++b, from += of.block_bytes, to += strip_rows * of.block_bytes)
        for_each_unit(of, [&](std::size_t offset, auto bytes) {
            for (std::size_t r = 0; r < count; ++r)
                std::memcpy(to + strip_rows * offset + bytes * r, from + r * stride + offset, bytes);
        });
}

void unpack_rows(WeightFormat format, const std::byte* strip, std::int64_t begin, std::int64_t end,
                 std::int64_t columns, std::byte* to) {
    const WeightFormatInfo& of = info(format);
    const std::size_t stride = row_bytes(format, static_cast<std::size_t>(columns));
    const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    const std::size_t blocks = static_cast<std::size_t>(columns) / of.block_size;
    for (std::size_t b = 0; b < blocks; ++b, to += of.block_bytes, strip += strip_rows * of.block_bytes)
        for_each_unit(of, [&](std::size_t offset, auto bytes) {
            const std::byte* const from = strip + strip_rows * offset + bytes * first;
            for (std::size_t r = 0; r < count; ++r)
                std::memcpy(to + r * stride + offset, from + bytes * r, bytes);
        });
}

}  // namespace voltpile::llm
