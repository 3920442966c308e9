// Reads a file's header from its first byte on and checks before each read that the bytes exist.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace voltpile::llm {

static_assert(std::endian::native == std::endian::little,
              "model files are little-endian, and are read without conversion");

class ByteCursor {
  public:
    ByteCursor(std::span<const std::byte> bytes, std::string_view path) : bytes_(bytes), path_(path) {}

    std::size_t position() const { return position_; }
    std::size_t remaining() const { return bytes_.size() - position_; }

    // Returns the next `count` elements. what: names them in the FileError for a file that is cut off.
    std::span<const std::byte> take(std::uint64_t count, std::size_t element_bytes, std::string_view what) {
        if (count > remaining() / element_bytes) fail_cut_off(what, count, element_bytes);
        const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count) * element_bytes);
        position_ += taken.size();
        return taken;
    }

    template <class T>
    T number(std::string_view what) {
        T value;
        std::memcpy(&value, take(1, sizeof value, what).data(), sizeof value);
        return value;
    }

    // Reads a 64-bit length and a text of that length.
    std::string_view text(std::string_view what) {
        const auto bytes = take(number<std::uint64_t>(what), 1, what);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    // Throws FileError "path: message (at byte N)".
    [[noreturn]] void fail(const std::string& message) const;

  private:
    [[noreturn]] void fail_cut_off(std::string_view what, std::uint64_t count,
                                   std::size_t element_bytes) const;

    std::span<const std::byte> bytes_;
    std::string_view path_;
    std::size_t position_ = 0;
};

// Makes a name from a file safe to print: shortens it and replaces control and non-ASCII characters.
std::string printable(std::string_view name);

}  // namespace voltpile::llm
