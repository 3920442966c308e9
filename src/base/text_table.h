// Formats rows of cells as a table in plain text, for people.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace voltpile {

using TextRow = std::vector<std::string>;

// Returns one line for each row, in columns of the least width. rows: at least one; all have as many cells as
// the first. right: the columns, from 0, that are flush right.
std::string text_table(const std::vector<TextRow>& rows, const std::set<std::size_t>& right);

}  // namespace voltpile
