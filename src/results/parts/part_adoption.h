// Tells which job a part folder belongs to. Private to src/results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "results/parts/part_folder.h"

namespace voltpile {

// What a part folder says about its job.
struct PartOwner {
    std::optional<ResultLayout> manifest;
    std::string problem;  // the manifest is there but cannot be used: the folder stays as it is
    // Without a manifest:
    std::vector<std::string> fingerprints;  // of the parts, each once
    std::filesystem::path stray;            // an entry that is not voltpile's; empty: none
};

// Throws FileError if the folder cannot be listed.
PartOwner read_part_owner(const std::filesystem::path& folder);

// Returns why this job must not use the folder; empty: it may. It may if the manifest has the same
// fingerprint; if there is no manifest but parts of this job; or if the folder holds only the remains of a
// run that died while it began or ended. With IfOther::Discard the parts may be of any job, as long as they
// are Voltpile's. A foreign folder is never touched.
std::string part_refusal(const PartOwner& owner, const std::filesystem::path& folder,
                         const std::filesystem::path& result, const ResultLayout& layout,
                         PartFolder::IfOther if_other);

// Throws JobError with that reason.
void check_may_use(const std::filesystem::path& folder, const std::filesystem::path& result,
                   const ResultLayout& layout, PartFolder::IfOther if_other);

}  // namespace voltpile
