#include "results/parts/part_seal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <type_traits>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "results/parts/durable_file.h"

namespace voltpile {
namespace {

constexpr std::array<char, 8> seal_magic{'V', 'P', 'S', 'E', 'A', 'L', '0', '1'};

// As stored, in the byte order of the machine: on one of another order no seal fits, and HDF5 checks.
struct SealBytes {
    std::array<char, 8> magic;
    std::int64_t begin, end;       // the points
    std::int64_t data_bytes;       // before the seal
    std::uint64_t layout_hash[2];  // XXH3, 128 bits, low half first
    std::uint64_t file_hash[2];    // of everything before these 16 bytes
};
static_assert(sizeof(SealBytes) == kSealBytes && std::is_trivially_copyable_v<SealBytes>);

constexpr std::size_t hashed_seal_bytes = offsetof(SealBytes, file_hash);

// Everything that PartFile compares with the layout, but the range.
std::string described(const ResultLayout& layout) {
    std::string text = layout.fingerprint;
    for (const FieldSpec& field : layout.fields) {
        text += fmt::format("\n{} {} {}", field.name, static_cast<int>(field.type),
                            static_cast<int>(field.shape));
        for (const FieldDimension& dimension : field.dimensions)
            text += fmt::format(" {}", dimension.labels.size());
    }
    return text;
}

bool read_exactly(int fd, std::span<std::byte> bytes, std::int64_t at) noexcept {
    while (!bytes.empty()) {
        const ssize_t read = ::pread(fd, bytes.data(), bytes.size(), at);
        if (read < 0 && errno == EINTR) continue;
        if (read <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(read));
        at += read;
    }
    return true;
}

bool has_hash(int fd, std::int64_t bytes, const std::uint64_t (&expected)[2]) noexcept {
    std::array<std::byte, 64 << 10> block;
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (std::int64_t at = 0; at < bytes;) {
        const auto count = std::min<std::int64_t>(block.size(), bytes - at);
        const std::span piece(block.data(), static_cast<std::size_t>(count));
        if (!read_exactly(fd, piece, at)) return false;
        XXH3_128bits_update(&state, piece.data(), piece.size());
        at += count;
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return hash.low64 == expected[0] && hash.high64 == expected[1];
}

}  // namespace

PartSealer::PartSealer(const ResultLayout& layout) : points_(layout.point_count()) {
    const std::string text = described(layout);
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    layout_hash_[0] = hash.low64;
    layout_hash_[1] = hash.high64;
}

void PartSealer::seal(std::vector<std::byte>& part, WorkRange range) const {
    const std::size_t data_bytes = part.size();
    SealBytes seal{seal_magic,
                   range.begin,
                   range.end,
                   static_cast<std::int64_t>(data_bytes),
                   {layout_hash_[0], layout_hash_[1]},
                   {}};
    part.resize(data_bytes + kSealBytes);
    std::memcpy(part.data() + data_bytes, &seal, kSealBytes);
    const XXH128_hash_t hash = XXH3_128bits(part.data(), data_bytes + hashed_seal_bytes);
    seal.file_hash[0] = hash.low64;
    seal.file_hash[1] = hash.high64;
    std::memcpy(part.data() + data_bytes, &seal, kSealBytes);
}

bool PartSealer::is_intact(const std::filesystem::path& path, WorkRange range) const noexcept {
    if (range.empty() || range.begin < 0 || range.end > points_) return false;
    // Opening a pipe, for example, would block.
    const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat found {};
    if (fd.get() < 0 || ::fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
    const std::int64_t data_bytes = found.st_size - static_cast<std::int64_t>(kSealBytes);
    if (data_bytes <= 0) return false;
    std::array<std::byte, kSealBytes> bytes;
    if (!read_exactly(fd.get(), bytes, data_bytes)) return false;
    SealBytes seal;
    std::memcpy(&seal, bytes.data(), kSealBytes);
    return seal.magic == seal_magic && seal.begin == range.begin && seal.end == range.end &&
           seal.data_bytes == data_bytes && seal.layout_hash[0] == layout_hash_[0] &&
           seal.layout_hash[1] == layout_hash_[1] &&
           has_hash(fd.get(), data_bytes + static_cast<std::int64_t>(hashed_seal_bytes), seal.file_hash);
}

}  // namespace voltpile
