// Verifies a finished result or the parts of an unfinished one: `voltpile verify`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "results/damage.h"
#include "work/range_set.h"

namespace voltpile {

struct Verification {
    bool finished = false;                 // a result file; otherwise the parts of an unfinished result
    bool has_checksums = false;            // the file, or each of its parts, has checksums of its values
    std::int64_t points = 0;               // of the whole sweep; 0 if the file does not tell any more
    std::optional<std::int64_t> computed;  // of them, in a finished refined result
    RangeSet intact;                       // the points whose values are whole
    std::vector<Damage> damage;            // one element for each problem

    bool ok() const { return damage.empty(); }
};

// Reads every byte of the values and compares them with their checksums, in blocks of bounded size; checks
// attributes, texts, the groups /check, /plan and /telemetry, and that no point is in two parts; of a refined
// result that its field "level" covers the grid. Changes nothing, so a run may be adding parts at the same
// time. `result` is the result file, finished or not, or its part folder. Where the parts of a --fresh run
// are to replace a finished file, verifies the parts, as all readers of results do. Points that are not
// computed yet are not a problem. Throws JobError if there is no result of voltpile, FileError.
Verification verify_result(const std::filesystem::path& result);

// Compares the manifest of a part folder with its checksum: the attributes and labels that the parts are
// checked against. Throws FileError.
std::vector<Damage> damaged_manifest(const std::filesystem::path& folder);

// Verifies the part folder of `result`, even if a finished file is beside it. Throws JobError if there is no
// such folder, FileError.
Verification verify_parts_of(const std::filesystem::path& result);

}  // namespace voltpile
