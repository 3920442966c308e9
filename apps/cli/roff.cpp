#include "cli/roff.h"

namespace voltpile::cli {

std::string roff(const std::string& text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) out += "\\&";
        switch (c) {
            case '\\':
                out += "\\[rs]";
                break;
            case '-':
                out += "\\-";
                break;
            case '\'':
                out += "\\[aq]";
                break;
            case '`':
                out += "\\[ga]";
                break;
            case '^':
                out += "\\[ha]";
                break;
            case '~':
                out += "\\[ti]";
                break;
            default:
                out += c;
        }
        line_start = c == '\n';
    }
    return out;
}

std::string roff_argument(const std::string& text) {
    std::string out = "\"";
    for (const char c : roff(text)) out += c == '"' ? std::string("\\[dq]") : std::string(1, c);
    return out + "\"";
}

std::string upper_case(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
}

}  // namespace voltpile::cli
