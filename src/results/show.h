// What a result holds, for the terminal: `voltpile show`.
#pragma once

#include <cstdint>
#include <string>

#include "results/result_reader.h"

namespace voltpile {

// Completeness, dimensions, statistics of every field, provenance. Reads all values, in blocks. Throws
// FileError.
std::string show_text(const ResultReader& result);

// One row, which is a point of the flattened sweep counted from 0 as in lines of JSON: the values of the axes
// and of every field, texts in full. Throws JobError for a row that the result does not have, or not yet;
// FileError.
std::string row_text(const ResultReader& result, std::int64_t row);

}  // namespace voltpile
