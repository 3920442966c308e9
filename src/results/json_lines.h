// Writes a finished result as lines of JSON, one for each point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>

#include "results/result_reader.h"

namespace voltpile {

// Writes the file, all of it or nothing. Each line is an object with the values of the axes and fields by
// name. NaN and infinite numbers, which JSON does not have, are null; values of labeled fields are their
// labels; a field's own dimensions are nested lists. Throws FileError.
void write_json_lines(const std::filesystem::path& path, const ResultReader& result);

// The same for the points of one range, which must be computed, into an open stream. Stops early if the
// stream fails.
void write_json_lines(std::ostream& to, const ResultReader& result, WorkRange points);

// Returns whether write_json_lines may have written `path` for a result of this layout: the first line is an
// object with all of its axes and fields. Returns false for a file that it cannot read.
bool is_json_lines_of(const std::filesystem::path& path, const ResultLayout& layout);

}  // namespace voltpile
