// What a load has measured, as an HDF5 file.
#pragma once

#include <filesystem>

#include "llm/bench/load_report.h"
#include "results/result_layout.h"

namespace voltpile::llm {

// One row a request: when it came and was answered, its lengths, the times between its tokens; what --json
// prints as the attribute `measurements`. Throws FileError.
void write_load(const std::filesystem::path& path, const LoadReport& report, const Provenance& provenance);

}  // namespace voltpile::llm
