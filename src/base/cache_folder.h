// Where the program keeps what it has measured.
#pragma once

#include <filesystem>

namespace voltpile {

// Returns $XDG_CACHE_HOME/voltpile, else ~/.cache/voltpile; empty if neither variable is set.
std::filesystem::path default_cache_folder();

}  // namespace voltpile
