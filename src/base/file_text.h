#pragma once

#include <filesystem>
#include <string>

namespace voltpile {

// Returns the content of a file; empty if it cannot be read. For files that others may replace or remove at
// any moment.
std::string file_text(const std::filesystem::path& file);

}  // namespace voltpile
