// What a result holds, for the terminal: `voltpile show`.
#pragma once

#include <string>

#include "results/result_reader.h"

namespace voltpile {

// Completeness, dimensions, statistics of every field, provenance. Reads all values, in blocks. Throws
// FileError.
std::string show_text(const ResultReader& result);

}  // namespace voltpile
