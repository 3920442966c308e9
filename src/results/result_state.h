// Inspects the file at the path of a result: whether it exists, is a result, and is intact.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/result_layout.h"

namespace voltpile {

enum class ResultState {
    Absent,
    Complete,
    OtherJob,  // a complete result with another fingerprint
    Damaged,   // an HDF5 file that cannot be read, or a result that lacks something
    Newer,     // a result in a format that only a newer version reads
    NotOurs    // anything else
};

// What the file of a result says about itself.
struct ResultFile {
    ResultState state = ResultState::Absent;  // never OtherJob
    std::string problem;                      // Damaged, Newer: what is wrong, without the path
    std::string fingerprint;                  // empty where it cannot be read
    std::vector<JobInput> inputs;             // of a complete result
};

// How much of the file to check. Structure: all attributes, datasets, shapes, types and extents; it costs the
// same for every size. SmallValues: also the values (their checksums, if the file has them), unless the file
// is larger than 256 MiB; `voltpile verify` checks those of larger files.
enum class CheckDepth { Structure, SmallValues };

// Throws FileError if the file exists but cannot be opened.
ResultFile read_result_file(const std::filesystem::path& result, CheckDepth depth);

// Returns the state of the file for the job with this fingerprint, by its structure. Throws FileError.
ResultState inspect_result(const std::filesystem::path& result, const std::string& fingerprint);

}  // namespace voltpile
