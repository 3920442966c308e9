#include "results/hdf5/checksum.h"

#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace voltpile {

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before) {
    if (bytes.empty()) return before;  // zlib takes a null pointer for a request of the initial value
    return static_cast<std::uint32_t>(
        ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

PiecewiseCrc32::Piece PiecewiseCrc32::joined(const Piece& first, const Piece& second) {
    const auto crc = ::crc32_combine(first.crc, second.crc, second.bytes);
    return {second.end, first.bytes + second.bytes, static_cast<std::uint32_t>(crc)};
}

void PiecewiseCrc32::add(std::int64_t begin, std::int64_t end, std::span<const std::byte> bytes) {
    add(begin, end, std::ssize(bytes), crc32_of(bytes));
}

void PiecewiseCrc32::add(std::int64_t begin, std::int64_t end, std::int64_t bytes, std::uint32_t crc) {
    Piece piece{end, bytes, crc};
    auto next = pieces_.lower_bound(begin);
    if (next != pieces_.end() && next->first == end) {
        piece = joined(piece, next->second);
        next = pieces_.erase(next);
    }
    if (next != pieces_.begin()) {
        const auto previous = std::prev(next);
        if (previous->second.end == begin) {
            previous->second = joined(previous->second, piece);
            return;
        }
    }
    pieces_.emplace(begin, piece);
}

std::uint32_t PiecewiseCrc32::value() const {
    if (pieces_.empty()) return crc32_of({});
    if (pieces_.size() > 1 || pieces_.begin()->first != 0)
        throw std::logic_error("the checksum of a dataset lacks a range");
    return pieces_.begin()->second.crc;
}

std::int64_t BlockCrc32::usual_block(std::int64_t points, std::int64_t bytes_per_point) {
    constexpr std::int64_t least_bytes = 1 << 20, most_blocks = 1024;
    return std::max({std::int64_t{1}, least_bytes / std::max<std::int64_t>(bytes_per_point, 1),
                     (points + most_blocks - 1) / most_blocks});
}

BlockCrc32::BlockCrc32(std::int64_t points, std::int64_t points_per_block)
    : block_(points_per_block),
      blocks_(static_cast<std::size_t>((points + points_per_block - 1) / points_per_block)) {}

void BlockCrc32::add(std::int64_t begin, std::int64_t end, std::span<const std::byte> bytes) {
    const std::int64_t block = begin / block_;
    const std::uint32_t crc = crc32_of(bytes);
    whole_.add(begin, end, std::ssize(bytes), crc);
    blocks_.at(static_cast<std::size_t>(block))
        .add(begin - block * block_, end - block * block_, std::ssize(bytes), crc);
}

std::int64_t BlockCrc32::piece_end(std::int64_t at, std::int64_t end) const {
    return std::min(end, (at / block_ + 1) * block_);
}

std::vector<std::uint32_t> BlockCrc32::block_values() const {
    std::vector<std::uint32_t> values;
    for (const PiecewiseCrc32& block : blocks_) values.push_back(block.value());
    return values;
}

}  // namespace voltpile
