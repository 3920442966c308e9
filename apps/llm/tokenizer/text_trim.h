// Trimming as the templates' language does it: Jinja's is Python's.
#pragma once

#include <string_view>

namespace voltpile::llm {

std::string_view trim_white_space(std::string_view text);
std::string_view trim_newlines(std::string_view text);
std::string_view trim_newlines_before(std::string_view text);

}  // namespace voltpile::llm
