#include "results/parts/part_adoption.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

[[noreturn]] void refuse_other_job(const std::filesystem::path& result, const std::string& whose,
                                   const std::string& fingerprint, const ResultLayout& layout) {
    throw JobError(
        fmt::format("{} is unfinished from another job: {}fingerprint {}, but this job ({}) has {}; "
                    "--fresh discards it, --output writes elsewhere",
                    result.string(), whose, fingerprint, layout.job_path, layout.fingerprint));
}

void check_orphans(const std::filesystem::path& folder, const std::filesystem::path& result,
                   const ResultLayout& layout, PartFolder::IfOther if_other) {
    std::filesystem::path stray;
    std::optional<std::string> other;
    for (const std::filesystem::path& entry : list_folder(folder)) {
        if (is_part(entry)) {
            const std::optional<std::string> fingerprint = part_fingerprint(entry);
            if (fingerprint == layout.fingerprint) return;
            if (fingerprint) other = fingerprint;
            if (!fingerprint) stray = entry;
        } else if (!is_ours(entry)) {
            stray = entry;
        }
    }
    if (other && if_other == PartFolder::IfOther::Discard) return;
    if (other) refuse_other_job(result, "parts with ", *other, layout);
    if (stray.empty()) return;
    throw JobError(fmt::format(
        "{} is needed for unfinished results but holds other files ({}): they are left alone; choose another "
        "--output",
        folder.string(), stray.filename().string()));
}

}  // namespace

void check_may_use(const std::filesystem::path& folder, const std::filesystem::path& result,
                   const ResultLayout& layout, PartFolder::IfOther if_other) {
    const std::optional<ResultLayout> found = read_manifest(folder);
    if (!found) {
        check_orphans(folder, result, layout, if_other);
    } else if (found->fingerprint != layout.fingerprint && if_other == PartFolder::IfOther::Refuse) {
        if (const std::string changed = changed_inputs_text(layout, found->inputs); !changed.empty())
            throw JobError(fmt::format(
                "{}: {} is unfinished from other inputs: {}; --fresh discards it, --output writes elsewhere",
                layout.job_path, result.string(), changed));
        refuse_other_job(result, found->job_path + " with ", found->fingerprint, layout);
    }
}

}  // namespace voltpile
