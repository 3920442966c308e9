// Which hosts see the same folder: one makes a file in it, the others look whether it is there. Its name has
// never been used or looked for before, because network file systems remember for a while what was not there.
#pragma once

#include <filesystem>
#include <string>

namespace voltpile {

// The file's name. Creates the folder if need be; throws FileError (CannotRun) if it cannot be written to.
std::string make_probe(const std::filesystem::path& folder);

bool sees(const std::filesystem::path& folder, const std::string& name);

void remove_probe(const std::filesystem::path& folder, const std::string& probe) noexcept;

}  // namespace voltpile
