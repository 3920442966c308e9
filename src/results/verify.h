// Verifies a finished result or the parts of an unfinished one: `voltpile verify`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "work/range_set.h"

namespace voltpile {

struct Verification {
    bool finished = false;              // a result file; otherwise the parts of an unfinished result
    bool has_checksums = false;         // the file, or each of its parts, has checksums of its values
    std::int64_t points = 0;            // of the whole sweep; 0 if the file does not tell any more
    RangeSet intact;                    // the points whose values are whole
    std::vector<std::string> problems;  // one sentence for each dataset or part that is damaged

    bool ok() const { return problems.empty(); }
};

// Reads every byte of the values and compares them with their checksums, in blocks of bounded size. Changes
// nothing, so a run may be adding parts at the same time. `result` is the result file, finished or not, or
// its part folder. Where the parts of a --fresh run are to replace a finished file, verifies the parts, as
// all readers of results do. Points that are not computed yet are not a problem. Throws JobError if there is
// no result of voltpile, FileError.
Verification verify_result(const std::filesystem::path& result);

}  // namespace voltpile
