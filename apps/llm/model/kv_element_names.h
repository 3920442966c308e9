// The names of KvElement in options, job files and messages.
#pragma once

#include <array>
#include <string_view>

#include "llm/model/kv_element.h"

namespace voltpile::llm {

// In the order of KvElement; the first is the default.
inline constexpr std::array<std::string_view, 4> kKvElementNames{"fp16", "int8", "int4", "fp32"};

constexpr std::string_view name(KvElement element) {
    return kKvElementNames.at(static_cast<std::size_t>(element));
}

// Returns the element of this name, which must exist.
constexpr KvElement kv_element_of(std::string_view name) {
    std::size_t at = 0;
    while (kKvElementNames.at(at) != name) ++at;
    return static_cast<KvElement>(at);
}

}  // namespace voltpile::llm
