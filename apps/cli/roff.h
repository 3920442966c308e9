// Text as roff, the language of manual pages, prints it.
#pragma once

#include <string>

namespace voltpile::cli {

// Escapes what roff would interpret: backslashes, hyphens, quotes and accents that it replaces by typographic
// ones, and a dot or a quote at the start of a line.
std::string roff(const std::string& text);

// `text` as one argument of a request, in quotes.
std::string roff_argument(const std::string& text);

std::string upper_case(std::string text);

}  // namespace voltpile::cli
