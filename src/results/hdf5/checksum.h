// CRC-32 of values: the checksum of zlib, gzip and PNG, which Python has as zlib.crc32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace voltpile {

// Returns the CRC-32 of the bytes that `before` is the checksum of, followed by `bytes`.
std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The CRC-32 of the values of a dataset, which arrive range by range in any order.
class PiecewiseCrc32 {
  public:
    // Adds the bytes of the points begin ... end - 1, or their number and checksum. Ranges must not overlap.
    void add(std::int64_t begin, std::int64_t end, std::span<const std::byte> bytes);
    void add(std::int64_t begin, std::int64_t end, std::int64_t bytes, std::uint32_t crc);

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

// The CRC-32 of the values of a dataset, and that of each of its blocks of points, which tells where damage
// is.
class BlockCrc32 {
  public:
    // Returns how many points a block has: at least 1 MiB, and at most 1024 blocks in all.
    static std::int64_t usual_block(std::int64_t points, std::int64_t bytes_per_point);

    BlockCrc32(std::int64_t points, std::int64_t points_per_block);

    // Adds the bytes of the points begin ... end - 1, which lie in one block. Ranges must not overlap.
    void add(std::int64_t begin, std::int64_t end, std::span<const std::byte> bytes);

    // Returns where a piece that begins at `at` ends: at `end`, or before at the end of its block.
    std::int64_t piece_end(std::int64_t at, std::int64_t end) const;

    std::int64_t points_per_block() const { return block_; }
    // These throw std::logic_error if a range is missing.
    std::uint32_t value() const { return whole_.value(); }
    std::vector<std::uint32_t> block_values() const;

  private:
    std::int64_t block_ = 1;
    PiecewiseCrc32 whole_;
    std::vector<PiecewiseCrc32> blocks_;
};

}  // namespace voltpile
