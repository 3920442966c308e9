// Values of a GGUF file's metadata. Texts are views of the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace voltpile::llm {

// The numbers are those of the file format.
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

// Bytes of a number or truth value; 0 for String and Array.
std::size_t element_bytes(GgufType type);

struct GgufArray {
    GgufType element_type;
    std::uint64_t count;
    std::span<const std::byte> bytes;     // of numbers and truth values, in any alignment
    std::vector<std::string_view> texts;  // of strings
};

// Integers of all widths are held as 64 bits, floating-point numbers as double.
using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, GgufArray>;

// One number or truth value from its bytes. A truth value other than 0 and 1: nothing.
std::optional<GgufValue> decode(GgufType type, const std::byte* bytes);

// The value as T, if that loses nothing (integers and floating-point numbers are not mixed). T:
// std::uint64_t, std::int64_t, double, bool, std::string_view; of an array std::vector<float>,
// std::vector<std::int64_t>, std::span<const std::string_view>.
template <class T>
std::optional<T> value_as(const GgufValue& value);

}  // namespace voltpile::llm
