// Programs that are built and installed beside voltpile.
#pragma once

#include <filesystem>
#include <string>

namespace voltpile {

// Returns the path of a program in the folder of this one, or in the folder above it (tests). It may not
// exist.
std::filesystem::path companion_program(const std::string& name);

}  // namespace voltpile
