// Measures how fast files are read, the upper bound for loading, and what this process takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile::llm {

// Returns the bytes a second at which one thread reads the part [reader / readers, (reader + 1) / readers) of
// each file, from the page cache if it is there. Throws FileError.
double file_read_rate(const std::vector<std::string>& paths, int reader, int readers);

// Returns the resident memory of this process.
std::int64_t host_bytes_in_use();

}  // namespace voltpile::llm
