// Checks the parts of an unfinished result before they are used.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/parts/part_folder.h"
#include "work/range_set.h"

namespace voltpile {

// A part that cannot be used. The scan has renamed it to `<name>.rejected`.
struct RejectedPart {
    std::filesystem::path path;  // the name that it had
    std::string reason;
};

struct PartScan {
    std::vector<PartInfo> parts;  // sorted by begin, disjoint
    RangeSet completed;           // within the interval
    std::vector<RejectedPart> rejected;
};

// Reads every byte of every part that has points of `interval` and compares them with their checksums: that
// of the seal (results/parts/part_seal.h), and HDF5's where there is no seal or it does not fit.
// Renames parts that begin in the interval and are damaged, of another job, or overlap another part. Throws
// FileError.
PartScan scan_parts(const Life& life, const ResultLayout& layout, WorkRange interval);

// Returns what is wrong with a part, without its path; nothing if it is whole. Reads every byte. Throws
// FileError if the part cannot be opened, which says nothing about its contents.
std::optional<std::string> part_problem(const std::filesystem::path& path, const ResultLayout& layout);

}  // namespace voltpile
