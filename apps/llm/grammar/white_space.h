// White space in the answers of models, the same as JSON's.
#pragma once

#include <string_view>

namespace voltpile::llm {

inline constexpr std::string_view kWhiteSpace = " \n\r\t";

constexpr bool is_white_space(char c) {
    return kWhiteSpace.find(c) != std::string_view::npos;
}

}  // namespace voltpile::llm
