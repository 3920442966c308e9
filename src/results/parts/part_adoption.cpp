#include "results/parts/part_adoption.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

std::string other_job_text(const std::filesystem::path& result, const std::string& whose,
                           const std::string& fingerprint, const ResultLayout& layout) {
    return fmt::format(
        "{} is unfinished from another job: {}fingerprint {}, but this job ({}) has {}; --fresh discards "
        "it, --output writes elsewhere",
        result.string(), whose, fingerprint, layout.job_path, layout.fingerprint);
}

}  // namespace

PartOwner read_part_owner(const std::filesystem::path& folder) {
    PartOwner owner;
    try {
        owner.manifest = read_manifest(folder);
    } catch (const JobError& error) {
        owner.problem = error.what();
    }
    if (owner.manifest || !owner.problem.empty()) return owner;
    for (const std::filesystem::path& entry : list_folder(folder)) {
        if (!is_part(entry)) {
            if (!is_ours(entry)) owner.stray = entry;
            continue;
        }
        const std::optional<std::string> fingerprint = part_fingerprint(entry);
        if (!fingerprint)
            owner.stray = entry;
        else if (std::ranges::find(owner.fingerprints, *fingerprint) == owner.fingerprints.end())
            owner.fingerprints.push_back(*fingerprint);
    }
    return owner;
}

std::string part_refusal(const PartOwner& owner, const std::filesystem::path& folder,
                         const std::filesystem::path& result, const ResultLayout& layout,
                         PartFolder::IfOther if_other) {
    if (!owner.problem.empty()) return owner.problem;
    const bool discard = if_other == PartFolder::IfOther::Discard;
    if (owner.manifest) {
        if (discard || owner.manifest->fingerprint == layout.fingerprint) return "";
        if (const std::string changed = changed_inputs_text(layout, owner.manifest->inputs); !changed.empty())
            return fmt::format(
                "{}: {} is unfinished from other inputs: {}; --fresh discards it, --output writes elsewhere",
                layout.job_path, result.string(), changed);
        return other_job_text(result, owner.manifest->job_path + " with ", owner.manifest->fingerprint,
                              layout);
    }
    if (std::ranges::find(owner.fingerprints, layout.fingerprint) != owner.fingerprints.end()) return "";
    if (!owner.fingerprints.empty())
        return discard ? "" : other_job_text(result, "parts with ", owner.fingerprints.back(), layout);
    if (owner.stray.empty()) return "";
    return fmt::format(
        "{} is needed for unfinished results but holds other files ({}): they are left alone; choose "
        "another --output",
        folder.string(), owner.stray.filename().string());
}

void check_may_use(const std::filesystem::path& folder, const std::filesystem::path& result,
                   const ResultLayout& layout, PartFolder::IfOther if_other) {
    if (const std::string why = part_refusal(read_part_owner(folder), folder, result, layout, if_other);
        !why.empty())
        throw JobError(why);
}

}  // namespace voltpile
