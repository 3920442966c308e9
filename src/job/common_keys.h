// The rows of the table of job-file keys that every app shares.
#pragma once

#include <vector>

#include "job/key_spec.h"

namespace voltpile {

// `app`, [[sweep]] (its rows hold for each axis) and [run].
std::vector<KeySpec> common_keys();

}  // namespace voltpile
