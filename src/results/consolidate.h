// Parts -> one ordinary HDF5 file, the only one that users need to open. See docs/result_file.md.
#pragma once

#include <filesystem>

#include "results/part_folder.h"
#include "results/result_layout.h"

namespace voltpile {

// Writes `result` under a temporary name, streaming (memory does not grow with the sweep), then fsync and rename.
// The parts must cover the whole sweep. Throws FileError; then `result` and the parts are as they were.
void consolidate(const std::filesystem::path& result, const ResultLayout& layout,
                 const std::vector<PartInfo>& parts, const Provenance& provenance);

// What is at a path where a result shall go.
enum class ResultState { Absent, Complete, OtherJob, NotOurs };
ResultState inspect_result(const std::filesystem::path& result, const std::string& fingerprint);

}  // namespace voltpile
