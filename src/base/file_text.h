#pragma once

#include <filesystem>
#include <string>

namespace voltpile {

// Returns the content of a file; empty if it cannot be read to its end. For files that others may replace or
// remove at any moment, as the kernel does with those of a process that ends.
std::string file_text(const std::filesystem::path& file);

}  // namespace voltpile
