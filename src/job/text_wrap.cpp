#include "job/text_wrap.h"

namespace voltpile {

std::string wrap(std::string_view text, std::size_t columns, std::size_t indentation) {
    std::string result;
    std::size_t column = 0;
    while (!text.empty()) {
        const auto end = text.find(' ');
        const auto word = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (word.empty()) continue;
        if (column > 0 && column + 1 + word.size() <= columns) {
            result += ' ';
            ++column;
        } else {
            if (column > 0) result += '\n';
            result.append(indentation, ' ');
            column = indentation;
        }
        result += word;
        column += word.size();
    }
    return result;
}

}  // namespace voltpile
