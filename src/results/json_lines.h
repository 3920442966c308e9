// A finished result as lines of JSON, one a point.
#pragma once

#include <filesystem>

#include "results/result_reader.h"

namespace voltpile {

// Each line is an object with the axes' values and the fields, by name; numbers that JSON has not (NaN,
// infinite) are null, values of labeled fields are their labels, and a field's own dimensions are nested
// lists. The file is there whole or not at all. Throws FileError.
void write_json_lines(const std::filesystem::path& path, const ResultReader& result);

}  // namespace voltpile
