// Names the numbers of a job that a sweep can vary, once: for the table of keys, for the problem and for the
// checks.
#pragma once

#include <string_view>
#include <vector>

#include "job/key_spec.h"
#include "rootmap/problem.h"

namespace voltpile::rootmap {

struct ParameterKey {
    KeySpec spec;
    int first = 0;    // index of its first number in a ParameterSet
    int numbers = 1;  // how many it has
};

// In the order of the table of keys.
const std::vector<ParameterKey>& parameter_keys();

// Returns the index in a ParameterSet of one number of a key. Throws std::logic_error if it cannot be swept.
int parameter_index(std::string_view key, int element);

// Whether the method uses the key ("map.a").
bool uses(Method method, std::string_view key);

inline ParameterSource* as_array(ParameterSet<ParameterSource>& sources) {
    return reinterpret_cast<ParameterSource*>(&sources);
}

}  // namespace voltpile::rootmap
