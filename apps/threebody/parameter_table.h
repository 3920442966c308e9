// Names the numbers of a job that a sweep can vary, once: for the table of keys, for the problem and for the
// checks.
#pragma once

#include <vector>

#include "job/key_spec.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

struct ParameterKey {
    KeySpec spec;
    int first = 0;           // index of its first number in a ParameterSet
    bool in_forces = false;  // the constants of the forces depend on it
    bool divides = false;    // something is divided by it
    int count() const;       // its numbers
};

// In the order of the table of keys.
const std::vector<ParameterKey>& parameter_keys();

// Returns the index in a ParameterSet of one number of a key. Throws std::logic_error if it cannot be swept.
int parameter_index(const std::string& key, int element);

inline ParameterSource* as_array(ParameterSet<ParameterSource>& sources) {
    return reinterpret_cast<ParameterSource*>(&sources);
}
inline const ParameterSource* as_array(const ParameterSet<ParameterSource>& sources) {
    return reinterpret_cast<const ParameterSource*>(&sources);
}

}  // namespace voltpile::threebody
