#include "llm/model/gguf_value.h"

#include <array>
#include <cstring>
#include <limits>

namespace voltpile::llm {
namespace {

struct TypeRow {
    std::string_view name;
    std::size_t bytes;
};
constexpr std::array<TypeRow, kGgufTypeCount> kTypes = {{{"uint8", 1},
                                                         {"int8", 1},
                                                         {"uint16", 2},
                                                         {"int16", 2},
                                                         {"uint32", 4},
                                                         {"int32", 4},
                                                         {"float32", 4},
                                                         {"bool", 1},
                                                         {"string", 0},
                                                         {"array", 0},
                                                         {"uint64", 8},
                                                         {"int64", 8},
                                                         {"float64", 8}}};

template <class Stored, class Held>
GgufValue load(const std::byte* bytes) {
    Stored value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<Held>(value);
}

// Converts each element of a numeric array to T.
template <class T, class Element>
std::optional<std::vector<Element>> numbers_of(const GgufValue& value) {
    const GgufArray* array = std::get_if<GgufArray>(&value);
    if (!array || element_bytes(array->element_type) == 0) return std::nullopt;
    std::vector<Element> elements;
    elements.reserve(array->count);
    for (std::uint64_t i = 0; i < array->count; ++i) {
        const auto element =
            decode(array->element_type, array->bytes.data() + i * element_bytes(array->element_type));
        const auto number = element ? value_as<T>(*element) : std::nullopt;
        if (!number) return std::nullopt;
        elements.push_back(static_cast<Element>(*number));
    }
    return elements;
}

}  // namespace

std::string_view name(GgufType type) {
    return kTypes[static_cast<std::size_t>(type)].name;
}

std::size_t element_bytes(GgufType type) {
    return kTypes[static_cast<std::size_t>(type)].bytes;
}

std::optional<GgufValue> decode(GgufType type, const std::byte* bytes) {
    switch (type) {
        case GgufType::Uint8:
            return load<std::uint8_t, std::uint64_t>(bytes);
        case GgufType::Int8:
            return load<std::int8_t, std::int64_t>(bytes);
        case GgufType::Uint16:
            return load<std::uint16_t, std::uint64_t>(bytes);
        case GgufType::Int16:
            return load<std::int16_t, std::int64_t>(bytes);
        case GgufType::Uint32:
            return load<std::uint32_t, std::uint64_t>(bytes);
        case GgufType::Int32:
            return load<std::int32_t, std::int64_t>(bytes);
        case GgufType::Uint64:
            return load<std::uint64_t, std::uint64_t>(bytes);
        case GgufType::Int64:
            return load<std::int64_t, std::int64_t>(bytes);
        case GgufType::Float32:
            return load<float, double>(bytes);
        case GgufType::Float64:
            return load<double, double>(bytes);
        case GgufType::Bool:
            if (*bytes > std::byte{1}) return std::nullopt;
            return *bytes == std::byte{1};
        case GgufType::String:
        case GgufType::Array:
            break;
    }
    return std::nullopt;
}

template <>
std::optional<std::uint64_t> value_as(const GgufValue& value) {
    if (const auto* number = std::get_if<std::uint64_t>(&value)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&value); number && *number >= 0)
        return static_cast<std::uint64_t>(*number);
    return std::nullopt;
}

template <>
std::optional<std::int64_t> value_as(const GgufValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
    const auto* number = std::get_if<std::uint64_t>(&value);
    if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
    return static_cast<std::int64_t>(*number);
}

template <>
std::optional<double> value_as(const GgufValue& value) {
    const auto* number = std::get_if<double>(&value);
    return number ? std::optional(*number) : std::nullopt;
}

template <>
std::optional<bool> value_as(const GgufValue& value) {
    const auto* truth = std::get_if<bool>(&value);
    return truth ? std::optional(*truth) : std::nullopt;
}

template <>
std::optional<std::string_view> value_as(const GgufValue& value) {
    const auto* text = std::get_if<std::string_view>(&value);
    return text ? std::optional(*text) : std::nullopt;
}

template <>
std::optional<std::vector<float>> value_as(const GgufValue& value) {
    return numbers_of<double, float>(value);
}

template <>
std::optional<std::vector<std::int64_t>> value_as(const GgufValue& value) {
    return numbers_of<std::int64_t, std::int64_t>(value);
}

template <>
std::optional<std::span<const std::string_view>> value_as(const GgufValue& value) {
    const GgufArray* array = std::get_if<GgufArray>(&value);
    if (!array || array->element_type != GgufType::String) return std::nullopt;
    return std::span<const std::string_view>(array->texts);
}

}  // namespace voltpile::llm
