#include "llm/ops/cuda/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "llm/ops/convert_row.h"
#include "llm/ops/cuda/repack.h"

namespace voltpile::llm {

namespace {
constexpr std::size_t copying_threads = 4;

// Writes rows [begin, end) of the source to `host` in sent_format(), contiguously.
void read_rows(const MatrixSource& source, std::int64_t begin, std::int64_t end, std::byte* host) {
    const WeightFormat format = sent_format(source.format);
    const std::size_t packed = row_bytes(format, static_cast<std::size_t>(source.columns));
    const std::byte* from = source.data + static_cast<std::size_t>(begin) * source.row_bytes;
    if (format == source.format && source.row_bytes == packed) {
        std::memcpy(host, from, static_cast<std::size_t>(end - begin) * packed);
        return;
    }
    for (std::int64_t r = begin; r < end; ++r, from += source.row_bytes, host += packed) {
        if (format == source.format)
            std::memcpy(host, from, packed);
        else
            convert_row(source.format, from, source.columns, format, host);
    }
}

}  // namespace

DeviceMatrix planes_in(const std::byte* memory, WeightFormat format, std::int64_t rows,
                       std::int64_t columns) {
    const PlaneBytes bytes = plane_bytes(format, rows, columns);
    DeviceMatrix planes;
    planes.format = gpu_format(format);
    planes.rows = static_cast<int>(rows);
    planes.columns = static_cast<int>((columns + 31) / 32 * 32);
    planes.quants = reinterpret_cast<const std::uint8_t*>(memory);
    planes.high = planes.quants + bytes.quants;
    planes.scales = planes.high + bytes.high;
    planes.super = planes.scales + bytes.scales;
    return planes;
}

std::byte* LoadStaging::next(std::size_t bytes) {
    piece_ ^= 1;
    if (used_[piece_]) free_[piece_].synchronize();
    if (pieces_[piece_].size() < bytes)
        pieces_[piece_] = PinnedBuffer<std::byte>(std::max(bytes, load_piece_bytes));
    return pieces_[piece_].data();
}

void LoadStaging::sent(const Stream& stream) {
    free_[piece_].record(stream);
    used_[piece_] = true;
}

std::unique_ptr<WeightMatrix> load_cuda_matrix(const MatrixSource& source, SlabMemory& slabs,
                                               LoadStaging& staging, std::span<std::uint8_t> scratch,
                                               const Stream& stream) {
    const WeightFormat sent = sent_format(source.format);
    const std::size_t packed = row_bytes(sent, static_cast<std::size_t>(source.columns));
    // Each staging buffer uses one half of the scratch memory; stream order prevents conflicts.
    if (source.rows > std::numeric_limits<int>::max() / 2 ||
        source.columns > std::numeric_limits<int>::max() / 4 || packed > scratch.size() / 2) {
        throw DeviceError(fmt::format("a matrix of {} x {} weights is too large for this GPU's operations",
                                      source.rows, source.columns));
    }
    SlabMemory::Piece memory =
        slabs.allocate(plane_bytes(source.format, source.rows, source.columns).total());
    set_to_zero(memory.data(), memory.bytes(), stream);  // the padding

    const DeviceMatrix planes = planes_in(memory.data(), source.format, source.rows, source.columns);
    const auto rows_each = static_cast<std::int64_t>(std::max<std::size_t>(1, load_piece_bytes / packed));
    for (std::int64_t row = 0; row < source.rows; row += rows_each) {
        const std::int64_t rows = std::min(rows_each, source.rows - row);
        const std::size_t size = static_cast<std::size_t>(rows) * packed;
        std::byte* host = staging.next(size);
        // One thread would be slower than the bus, especially on first-touched pages.
        in_parallel(static_cast<std::size_t>(rows), copying_threads, [&](std::size_t begin, std::size_t end) {
            read_rows(source, row + static_cast<std::int64_t>(begin), row + static_cast<std::int64_t>(end),
                      host + begin * packed);
        });
        std::uint8_t* blocks =
            scratch.data() + static_cast<std::size_t>(staging.piece()) * (scratch.size() / 2);
        copy_to_device(blocks, host, size, stream);
        staging.sent(stream);
        repack_rows(planes, sent, blocks, static_cast<int>(row), static_cast<int>(rows),
                    static_cast<int>(source.columns), stream);
    }
    return std::make_unique<CudaMatrix>(source, planes, std::move(memory));
}

}  // namespace voltpile::llm
