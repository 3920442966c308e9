#include "llm/ops/cpu/strip_layout.h"

#include <cstring>

#include "llm/ops/cpu/kernels.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t unit_bytes = 4;
// Units and rows of them that are copied at once: 16 bytes of a row.
constexpr std::size_t together = 4;

// Units of 4 rows.
typedef std::uint32_t Units __attribute__((vector_size(together * unit_bytes)));

Units load(const std::byte* from) {
    Units units;
    std::memcpy(&units, from, sizeof units);
    return units;
}

// Copies 4 x 4 units so that row i becomes column i. from_stride, to_stride: bytes from row to row.
void transpose(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride) {
    const Units a = load(from), b = load(from + from_stride), c = load(from + 2 * from_stride),
                d = load(from + 3 * from_stride);
    const Units ac_low = __builtin_shufflevector(a, c, 0, 4, 1, 5);
    const Units ac_high = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    const Units bd_low = __builtin_shufflevector(b, d, 0, 4, 1, 5);
    const Units bd_high = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    const Units columns[together] = {__builtin_shufflevector(ac_low, bd_low, 0, 4, 1, 5),
                                     __builtin_shufflevector(ac_low, bd_low, 2, 6, 3, 7),
                                     __builtin_shufflevector(ac_high, bd_high, 0, 4, 1, 5),
                                     __builtin_shufflevector(ac_high, bd_high, 2, 6, 3, 7)};
    for (std::size_t i = 0; i < together; ++i)
        std::memcpy(to + i * to_stride, &columns[i], sizeof columns[i]);
}

// The shorter unit has at most an fp16 number.
static_assert([] {
    for (const WeightFormat format : kIntegerProductFormats)
        if (info(format).block_bytes % unit_bytes > 2) return false;
    return true;
}());

// A block of a matrix row by row, and the blocks that follow it. place(): of the unit at `offset` of row r's
// block; `apart`: bytes between what transpose() takes as rows.
template <class Byte>
struct FileBlocks {
    Byte* at;
    std::size_t apart;  // from row to row
    Byte* place(std::size_t offset, std::size_t r, std::size_t) const { return at + r * apart + offset; }
    void advance(std::size_t block_bytes) { at += block_bytes; }
};

// The same in a strip, from row `first` on.
template <class Byte>
struct StripBlocks {
    Byte* at;
    std::size_t first = 0;
    static constexpr std::size_t apart = strip_rows * unit_bytes;  // from unit to unit
    Byte* place(std::size_t offset, std::size_t r, std::size_t bytes) const {
        return at + strip_rows * offset + (first + r) * bytes;
    }
    void advance(std::size_t block_bytes) { at += strip_rows * block_bytes; }
};

// short_bytes: of the unit that is shorter, 0 to 2.
template <std::size_t short_bytes, class From, class To>
void copy_blocks(const WeightFormatInfo& format, From from, To to, std::size_t rows, std::size_t columns) {
    const bool scale_last = format.format == WeightFormat::Q3_K || format.format == WeightFormat::Q6_K;
    const std::size_t short_offset = scale_last ? format.block_bytes - short_bytes : 0;
    const std::size_t begin = scale_last ? 0 : short_bytes;
    const std::size_t end = begin + format.block_bytes - short_bytes;
    for (std::size_t b = 0; b < columns / format.block_size; ++b) {
        for (std::size_t r = 0; r < rows; ++r)
            std::memcpy(to.place(short_offset, r, short_bytes), from.place(short_offset, r, short_bytes),
                        short_bytes);
        const auto copy_units = [&](std::size_t first, std::size_t last, std::size_t r) {
            for (std::size_t unit = first; unit < last; unit += unit_bytes)
                std::memcpy(to.place(unit, r, unit_bytes), from.place(unit, r, unit_bytes), unit_bytes);
        };
        std::size_t offset = begin;
        for (; offset + together * unit_bytes <= end; offset += together * unit_bytes) {
            std::size_t r = 0;
            for (; r + together <= rows; r += together)
                transpose(from.place(offset, r, unit_bytes), from.apart, to.place(offset, r, unit_bytes),
                          to.apart);
            for (; r < rows; ++r) copy_units(offset, offset + together * unit_bytes, r);
        }
        for (std::size_t r = 0; r < rows; ++r) copy_units(offset, end, r);
        from.advance(format.block_bytes);
        to.advance(format.block_bytes);
    }
}

template <class From, class To>
void copy(WeightFormat format, From from, To to, std::int64_t rows, std::int64_t columns) {
    const WeightFormatInfo& of = info(format);
    const auto height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(columns);
    switch (of.block_bytes % unit_bytes) {
        case 0:
            return copy_blocks<0>(of, from, to, height, width);
        case 1:
            return copy_blocks<1>(of, from, to, height, width);
        default:
            return copy_blocks<2>(of, from, to, height, width);
    }
}

}  // namespace

void pack_strip(WeightFormat format, const std::byte* from, std::size_t stride, std::int64_t rows,
                std::int64_t columns, std::byte* to) {
    if (rows < strip_rows) std::memset(to, 0, bytes_in_strips(format, strip_rows, columns));
    copy(format, FileBlocks<const std::byte>{from, stride}, StripBlocks<std::byte>{to}, rows, columns);
}

void unpack_rows(WeightFormat format, const std::byte* strip, std::int64_t begin, std::int64_t end,
                 std::int64_t columns, std::byte* to) {
    const std::size_t stride = row_bytes(format, static_cast<std::size_t>(columns));
    copy(format, StripBlocks<const std::byte>{strip, static_cast<std::size_t>(begin)},
         FileBlocks<std::byte>{to, stride}, end - begin, columns);
}

}  // namespace voltpile::llm
