#include "results/open_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <vector>

#include "base/error.h"
#include "results/admission.h"
#include "results/parts/consolidate.h"
#include "results/parts/durable_file.h"
#include "results/parts/part_scan.h"
#include "results/result_state.h"

namespace voltpile {
namespace {

// Returns the shards of `count` that lack points.
std::vector<std::string> shards_to_run_again(const RangeSet& completed, const ResultLayout& layout,
                                             int count) {
    std::vector<std::string> again;
    for (Shard shard{0, count}; shard.index < count; ++shard.index)
        if (!completed.contains(shard.interval(layout.point_count())))
            again.push_back(fmt::format("{}/{}", shard.index, count));
    return again;
}

// Returns nothing if another shard has completed the result in the meantime.
std::optional<PartScan> scan_all(const PartFolder& folder, const std::filesystem::path& result,
                                 const ResultLayout& layout) {
    PartScan scan = scan_parts(folder.life(), layout, layout.whole());
    for (const RejectedPart& part : scan.rejected)
        spdlog::error("{}: {}; moved aside", part.path.string(), part.reason);
    if (scan.completed.contains(layout.whole())) return scan;
    if (is_complete(result, layout)) return std::nullopt;
    throw FileError(fmt::format(
        "{} lacks parts that had been committed; run again: --shard {}", folder.path().string(),
        fmt::join(shards_to_run_again(scan.completed, layout, folder.shard().count), ", --shard ")));
}

}  // namespace

bool is_complete(const std::filesystem::path& result, const ResultLayout& layout) {
    return inspect_result(result, layout.fingerprint) == ResultState::Complete &&
           !parts_replace_result(result, layout.fingerprint);
}

void remove_left_over_parts(const std::filesystem::path& result, const ResultLayout& layout) {
    std::error_code error;
    if (!std::filesystem::exists(parts_path(result), error)) return;
    try {
        PartFolder(result, layout, PartFolder::IfOther::Refuse).remove();
    } catch (const Error& problem) {
        // A run that is still alive removes them itself, or has just done so.
        if (problem.exit_code() != ExitCode::CannotRun && std::filesystem::exists(parts_path(result), error))
            spdlog::warn("{}", problem.what());
    }
}

std::unique_ptr<PartFolder> open_result(const std::filesystem::path& result, const ResultLayout& layout,
                                        bool fresh, const Claim& claim) {
    const Admission admission = admit(result, layout, {fresh, claim});
    admission.throw_if_refused();
    if (admission.verdict == Admission::Verdict::Complete) {
        remove_left_over_parts(result, layout);
        return nullptr;
    }
    try {
        auto folder = std::make_unique<PartFolder>(
            result, layout, fresh ? PartFolder::IfOther::Discard : PartFolder::IfOther::Refuse, claim);
        // A predecessor or another shard may have finished before its life was ended.
        if (fresh || !is_complete(result, layout)) return folder;
        folder->remove();
    } catch (const FileError&) {  // the run that has finished may just be removing the folder
        if (fresh || !is_complete(result, layout)) throw;
    }
    return nullptr;
}

ShardEnd finish_shard(PartFolder& folder, const std::filesystem::path& result, const ResultLayout& layout,
                      const Provenance& provenance, const PlanRecord* plan) {
    bool written = false;
    try {
        if (!named_parts(folder.path()).contains(layout.whole())) {
            check_not_taken_over(folder.life());
            return ShardEnd::OthersToCome;
        }
        const auto lock = folder.lock_result();
        if (!lock) return ShardEnd::OtherIsWriting;
        if (const auto scan = scan_all(folder, result, layout)) {
            consolidate(folder.life(), layout, scan->parts, provenance, plan);
            written = true;
            folder.remove();
        }
    } catch (const FileError&) {
        // The run that has finished has removed the parts, and with them this run's life.
        if (!is_complete(result, layout)) throw;
    }
    return written ? ShardEnd::ResultWritten : ShardEnd::OtherHasWritten;
}

}  // namespace voltpile
