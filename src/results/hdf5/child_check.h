// Runs a check of a file in a process of its own: HDF5 may crash on a damaged file, in which references to
// texts and lists are addresses. Private to src/results.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "results/damage.h"
#include "results/hdf5/handle.h"

namespace voltpile {

// Opens the file in the child and returns what `check` finds there. `crashed` is added with a sentence about
// it if the child crashes, and with the error's text if the check throws. Throws FileError if there can be no
// child. The caller must not hold an Hdf5Guard, which the child could not take.
std::vector<Damage> check_in_child(Damage crashed, const std::filesystem::path& path,
                                   const std::function<std::vector<Damage>(hid_t)>& check);

}  // namespace voltpile
