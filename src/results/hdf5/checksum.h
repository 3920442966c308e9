// CRC-32 of values: the checksum of zlib, gzip and PNG, which Python has as zlib.crc32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace voltpile {

// Returns the CRC-32 of the bytes that `before` is the checksum of, followed by `bytes`.
std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The CRC-32 of the values of a dataset, which arrive range by range in any order.
class PiecewiseCrc32 {
  public:
    // Adds the bytes of the points begin ... end - 1. Ranges must not overlap.
    void add(std::int64_t begin, std::int64_t end, std::span<const std::byte> bytes);

    // Returns the checksum of the points from 0 on. Throws std::logic_error if a range is missing.
    std::uint32_t value() const;

  private:
    struct Piece {
        std::int64_t end = 0;
        std::int64_t bytes = 0;
        std::uint32_t crc = 0;
    };
    static Piece joined(const Piece& first, const Piece& second);

    std::map<std::int64_t, Piece> pieces_;  // by begin; neighbors are merged
};

}  // namespace voltpile
