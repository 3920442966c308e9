// Reads and writes the group /plan of a result. The caller holds an Hdf5Guard; all functions throw FileError.
// Private to src/results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/damage.h"
#include "results/hdf5/handle.h"
#include "results/plan_record.h"

namespace voltpile {

inline constexpr const char* kPlanGroup = "plan";

void write_plan_group(hid_t file, const PlanRecord& record);
std::optional<PlanRecord> read_plan_group(hid_t file);  // nothing if there is no group

// Compares the group's values with their checksums. Returns an element for each dataset that is damaged.
std::vector<Damage> damaged_plan_values(hid_t file);

}  // namespace voltpile
