// Changes a finished result through a copy, so that readers see the old file or the new one. Private to
// src/results.
#pragma once

#include <filesystem>
#include <functional>

#include "results/hdf5/handle.h"

namespace voltpile {

// Copies the file, calls `change` with the open copy, holding an Hdf5Guard, and gives the copy the name of
// the file, durably. Follows symbolic links. If anything fails, the file stays as it was. Throws FileError,
// and what `change` throws.
void change_result(const std::filesystem::path& result, const std::function<void(hid_t file)>& change);

}  // namespace voltpile
