// A finished result as lines of JSON, one a point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>

#include "results/result_reader.h"

namespace voltpile {

// Each line is an object with the axes' values and the fields, by name; numbers that JSON has not (NaN,
// infinite) are null, values of labeled fields are their labels, and a field's own dimensions are nested
// lists. The file is there whole or not at all. Throws FileError.
void write_json_lines(const std::filesystem::path& path, const ResultReader& result);

// The same for the points of one range, which must be computed, into an open stream. Stops early if the
// stream fails.
void write_json_lines(std::ostream& to, const ResultReader& result, WorkRange points);

// Returns whether write_json_lines may have written `path` for a result of this layout: the first line is an
// object with all of its axes and fields. Returns false for a file that it cannot read.
bool is_json_lines_of(const std::filesystem::path& path, const ResultLayout& layout);

}  // namespace voltpile
