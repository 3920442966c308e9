// What is at the path where a result shall go.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/result_layout.h"

namespace voltpile {

enum class ResultState {
    Absent,
    Complete,
    OtherJob,  // a complete result of another fingerprint
    Damaged,   // an HDF5 file that cannot be read, or a result that was never completed
    NotOurs    // anything else
};

// Throws FileError if the file cannot be looked at.
ResultState inspect_result(const std::filesystem::path& result, const std::string& fingerprint);

// Of a result that is complete. Throws FileError.
std::vector<JobInput> inputs_of(const std::filesystem::path& result);

}  // namespace voltpile
