#include "llm/model/packed/packed_matrix.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace voltpile::llm {

namespace {
constexpr std::size_t kThreads = 8;
}

PackedMatrix::PackedMatrix(PackedShape shape, WeightFormat format)
    : shape_(std::move(shape)), format_(format) {}

void PackedMatrix::read(const TensorSlice& slice, std::byte* out) const {
    std::atomic<bool> fits = true;
    const std::size_t row = row_bytes(format_, slice.columns());
    const std::size_t tiles = (slice.rows() + kTileRows - 1) / kTileRows;
    in_parallel(tiles, kThreads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t t = begin; t < end; ++t) {
            TensorSlice tile = slice;
            tile.row_begin = slice.row_begin + t * kTileRows;
            tile.row_end = std::min(tile.row_begin + kTileRows, slice.row_end);
            if (!convert(tile, out + t * kTileRows * row)) fits = false;
        }
    });
    if (!fits)
        throw FileError(
            shape_.place +
                " has scales or weights that are not numbers, or beyond 65504, the largest number of F16",
            ExitCode::BadInput);
}

}  // namespace voltpile::llm
