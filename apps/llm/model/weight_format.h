// The storage formats of weights and the layout of their blocks: what follows from the list of formats.
#pragma once

#include <optional>
#include <string_view>

#include "llm/model/weight_format_list.h"

namespace voltpile::llm {

constexpr std::string_view name(WeightFormat format) {
    return info(format).name;
}
constexpr std::size_t block_size(WeightFormat format) {
    return info(format).block_size;
}
constexpr std::size_t block_bytes(WeightFormat format) {
    return info(format).block_bytes;
}

// Returns the bytes of a row. columns: a multiple of the block size.
constexpr std::size_t row_bytes(WeightFormat format, std::size_t columns) {
    return columns / block_size(format) * block_bytes(format);
}

// Returns the format with a GGUF type number; nothing for unsupported types.
constexpr std::optional<WeightFormat> weight_format_of_gguf_type(std::uint32_t gguf_type) {
    for (const WeightFormatInfo& entry : kWeightFormats)
        if (entry.gguf_type == gguf_type) return entry.format;
    return std::nullopt;
}

}  // namespace voltpile::llm
