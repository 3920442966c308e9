// Weights in the order in which integer_product reads them. A strip has 16 rows of the matrix, the last one
// padded with zeros. Its blocks lie one after the other in the order of columns. A block of a strip has the
// bytes of a block of the file from 16 rows: units of 4 bytes, each with those of all rows side by side, in
// the order of the file. Where a block is not a multiple of 4 bytes, its scale is a unit by itself: the last
// one of Q3_K and Q6_K, the first one of all others. So the bytes at `offset` in the file's
// blocks begin at 16 * offset in the strip's block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

constexpr int strip_rows = 16;

// Returns the bytes of a packed matrix. columns: a multiple of the format's block.
constexpr std::size_t bytes_in_strips(WeightFormat format, std::int64_t rows, std::int64_t columns) {
    const std::int64_t strips = (rows + strip_rows - 1) / strip_rows;
    return static_cast<std::size_t>(strips * strip_rows) *
           row_bytes(format, static_cast<std::size_t>(columns));
}

// Packs `rows` rows, at most 16, to the strip `to`. from: the first row, in the layout of files; the others
// are stride bytes apart.
void pack_strip(WeightFormat format, const std::byte* from, std::size_t stride, std::int64_t rows,
                std::int64_t columns, std::byte* to);

// Writes rows [begin, end) of a packed strip to `to` in the layout of files, contiguously.
void unpack_rows(WeightFormat format, const std::byte* strip, std::int64_t begin, std::int64_t end,
                 std::int64_t columns, std::byte* to);

}  // namespace voltpile::llm
