// Names the numbers of a job that a sweep or a table can vary, once: for the table of keys, for the problem
// and for the checks.
#pragma once

#include <string>
#include <vector>

#include "job/key_spec.h"

namespace voltpile::nbody {

struct ParameterKey {
    KeySpec spec;
    int first = 0;  // a Number, that of its first element
};

// In the order of the table of keys.
const std::vector<ParameterKey>& parameter_keys();

// Returns the Number of one element of a key. Throws std::logic_error if it is none of parameter_keys().
int number_of(const std::string& key, int element);

// Returns the row of a key; null if it is none of parameter_keys().
const ParameterKey* find_parameter(const std::string& key);

}  // namespace voltpile::nbody
