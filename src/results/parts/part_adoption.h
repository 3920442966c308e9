// Whose a part folder is. Private to src/results.
#pragma once

#include <filesystem>
#include <string>

#include "results/parts/part_folder.h"

namespace voltpile {

// Throws JobError unless the folder may be used by this job: it has a manifest of the same fingerprint; or it
// has lost its manifest, but its parts are of this job; or there is nothing in it but what a run leaves that
// died while it began or ended. With IfOther::Discard the parts may be of any job, as long as they are ours.
// A folder of somebody else's is never touched.
void check_may_use(const std::filesystem::path& folder, const std::filesystem::path& result,
                   const ResultLayout& layout, PartFolder::IfOther if_other);

}  // namespace voltpile
