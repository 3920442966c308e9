// The seal of a part: 64 bytes behind its HDF5 data, with a checksum of the whole file (docs/result_file.md).
// HDF5 ignores what lies beyond the end that a file's superblock states. A restart checks a sealed part with
// plain reads, on several threads, which takes a fraction of what HDF5 needs. Private to src/results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "results/result_layout.h"

namespace voltpile {

inline constexpr std::size_t kSealBytes = 64;

// Seals the parts of one layout and checks their seals.
class PartSealer {
  public:
    explicit PartSealer(const ResultLayout& layout);

    // Appends the seal to the HDF5 data of a part.
    void seal(std::vector<std::byte>& part, WorkRange range) const;

    // Returns whether the file is, byte by byte, the part of this layout and range that was sealed. If not,
    // it may still be whole: a part without a seal, for example. Then only HDF5 can tell. Any number of
    // threads may call this at once.
    bool is_intact(const std::filesystem::path& path, WorkRange range) const noexcept;

  private:
    std::int64_t points_;
    std::uint64_t
        layout_hash_[2];  // of the fingerprint, and of all that decides how a part stores its fields
};

}  // namespace voltpile
