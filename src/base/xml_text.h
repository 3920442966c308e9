// Text in SVG and other XML.
#pragma once

#include <string>

namespace voltpile {

// Escapes what would end or begin markup; for text between tags and for attributes in double quotes.
std::string xml_text(const std::string& text);

}  // namespace voltpile
