// Reads and writes the group /check of a result. The caller holds an Hdf5Guard. Private to src/results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/check.h"
#include "results/damage.h"
#include "results/hdf5/handle.h"

namespace voltpile {

// A field's values at the sampled points, point by point: in the result, and as they should be.
struct CheckedValues {
    FieldSpec field;
    std::vector<double> result, reference;
};

// Replaces the group if the file has one.
void write_check_group(hid_t file, const ResultCheck& check, const std::vector<std::int64_t>& sample,
                       const std::vector<CheckedValues>& checked);

std::optional<ResultCheck> read_check_group(hid_t file);  // nothing if there is no group

// Compares the group's values with their checksums. Returns an element for each dataset that is damaged.
std::vector<Damage> damaged_check_values(hid_t file);

}  // namespace voltpile
