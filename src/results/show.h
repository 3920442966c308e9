// Texts of `voltpile show`.
#pragma once

#include <cstdint>
#include <string>

#include "results/result_reader.h"

namespace voltpile {

// Returns a summary of the result: completeness, dimensions, statistics of every field, the beginnings of
// texts, provenance. Reads all values, in blocks. Throws FileError.
std::string show_text(const ResultReader& result);

// Returns one row with the values of all axes and fields, texts in full. A row is a point of the flattened
// sweep, counted from 0, as in lines of JSON. Throws JobError for a row that does not exist or is not
// computed yet, FileError.
std::string row_text(const ResultReader& result, std::int64_t row);

}  // namespace voltpile
