// Repairs what can be repaired of a result, finished or not: `voltpile repair`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace voltpile {

struct Repair {
    std::vector<std::string>
        done;  // what was damaged and done, or would be: a sentence each, without a period
    std::vector<std::string> left;  // damage that stays
    std::int64_t points = 0;        // of the whole sweep
    std::int64_t missing = 0;       // of them, those that the next run of the job computes
    bool finished = false;          // the result is complete now
};

enum class RepairMode { Do, Preview };  // Preview: changes nothing

// Of an unfinished result: removes what dead runs left, moves damaged, foreign and overlapping parts aside
// (`*.rejected`), so that the next run computes just these points, and writes the result if the parts cover
// the whole sweep. Of a damaged result file: drops groups beside the fields that are damaged; if values of
// fields or axes are, turns the intact points into parts that are to replace the file, which stays until the
// next run (or this repair, where all points are intact) has written the new one. Never removes an intact
// value. command_line: for the provenance of a result that it writes. Throws JobError if there is no result
// of Voltpile, FileError if a run is writing it or the folder cannot be written.
Repair repair_result(const std::filesystem::path& result, RepairMode mode, const std::string& command_line);

}  // namespace voltpile
