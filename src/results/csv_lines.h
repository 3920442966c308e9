// A result as comma-separated values (RFC 4180), one line a point: for spreadsheets, pandas and R.
#pragma once

#include <iosfwd>
#include <string>

#include "results/result_reader.h"

namespace voltpile {

// Returns the names of the columns as one line, with its end: the axes, then the fields. A field with
// dimensions of its own has a column for each element, "position[body=1,axis=x]".
std::string csv_header(const ResultLayout& layout);

// Writes the points of one range, which must be computed. Numbers have as many digits as reading them back
// exactly needs ("nan", "inf" where they are not finite); values of labeled fields are their labels; lists
// are JSON ("[1,2]"). Stops early if the stream fails. Throws FileError if the result cannot be read.
void write_csv_lines(std::ostream& to, const ResultReader& result, WorkRange points);

}  // namespace voltpile
