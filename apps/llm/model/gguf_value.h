// The values in a GGUF file's metadata. Strings are views of the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace voltpile::llm {

// Numbered as in the file format.
enum class GgufType : std::uint32_t {
    Uint8,
    Int8,
    Uint16,
    Int16,
    Uint32,
    Int32,
    Float32,
    Bool,
    String,
    Array,
    Uint64,
    Int64,
    Float64,
};
inline constexpr std::uint32_t kGgufTypeCount = 13;

std::string_view name(GgufType type);

// Returns the bytes of a number or boolean; 0 for String and Array.
std::size_t element_bytes(GgufType type);

struct GgufArray {
    GgufType element_type;
    std::uint64_t count;
    std::span<const std::byte> bytes;     // the elements if they are numbers or booleans, unaligned
    std::vector<std::string_view> texts;  // the elements if they are strings
};

// Holds integers of all widths as 64 bits, and floating-point numbers as double.
using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, GgufArray>;

// Decodes one number or boolean. Returns nothing for a boolean other than 0 and 1.
std::optional<GgufValue> decode(GgufType type, const std::byte* bytes);

// Converts a value to T if that loses nothing; does not convert between integers and floating-point numbers.
// T: std::uint64_t, std::int64_t, double, bool or std::string_view; for arrays std::vector<float>,
// std::vector<std::int64_t> or std::span<const std::string_view>.
template <class T>
std::optional<T> value_as(const GgufValue& value);

}  // namespace voltpile::llm
