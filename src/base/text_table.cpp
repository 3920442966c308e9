#include "base/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile {

std::string text_table(const std::vector<TextRow>& rows, const std::set<std::size_t>& right) {
    std::vector<std::size_t> width(rows.front().size(), 0);
    for (const TextRow& row : rows) {
        for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
    }
    std::string text;
    for (const TextRow& row : rows) {
        std::string line = " ";
        for (std::size_t c = 0; c < row.size(); ++c) {
            line += right.contains(c) ? fmt::format(" {:>{}} ", row[c], width[c])
                                      : fmt::format(" {:<{}} ", row[c], width[c]);
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";  // the last column is not padded
    }
    return text;
}

}  // namespace voltpile
