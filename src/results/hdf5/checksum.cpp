#include "results/hdf5/checksum.h"

#include <zlib.h>

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
    Piece piece{end, std::ssize(bytes), crc32_of(bytes)};
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

}  // namespace voltpile
