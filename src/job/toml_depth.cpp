#include "job/toml_depth.h"

namespace voltpile {

int line_nested_too_deeply(std::string_view toml) {
    int line = 1;
    int dots = 0;
    std::string_view quote;  // what ends the string that we are in; "\n" for a comment
    for (std::size_t i = 0; i < toml.size(); ++i) {
        const char c = toml[i];
        if (!quote.empty()) {
            const bool escapes = quote.front() == '"' && c == '\\';
            if (escapes && i + 1 < toml.size() && toml[i + 1] != '\n') {
                ++i;
            } else if (toml.substr(i).starts_with(quote)) {
                i += quote.size() - 1;
                quote = {};
            } else if (c == '\n' && quote.size() == 1) {
                quote = {};  // unterminated: the library will say so
            }
            if (c == '\n') {
                ++line;
                if (quote.empty()) dots = 0;
            }
            continue;
        }
        switch (c) {
            case '"':
                quote = toml.substr(i).starts_with("\"\"\"") ? "\"\"\"" : "\"";
                break;
            case '\'':
                quote = toml.substr(i).starts_with("'''") ? "'''" : "'";
                break;
            case '#':
                quote = "\n";
                break;
            case '.':
                if (++dots > max_key_dots) return line;
                break;
            case '\n':
                ++line;
                [[fallthrough]];
            case ',':
            case '=':
            case '[':
            case ']':
            case '{':
            case '}':
                dots = 0;
                break;
            default:
                break;
        }
        if (!quote.empty() && quote != "\n") i += quote.size() - 1;
    }
    return 0;
}

}  // namespace voltpile
