// What a load has measured: as text, as JSON and as an HDF5 file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "llm/bench/load.h"
#include "llm/bench/load_result.h"
#include "results/result_layout.h"

namespace voltpile::llm {

struct LoadReport {
    std::string model;
    std::string processor;  // empty: of a server
    std::string server;     // its address; empty: the engine of this process
    LoadSettings settings;
    LoadResult result;
    std::optional<LoadResult> within_grammar;  // of the same load with LoadSettings::grammar
};

std::string to_text(const LoadReport& report);
std::string to_json(const LoadReport& report);

// Writes an HDF5 file with one row for each request: when it arrived and was answered, its lengths, and the
// times between its tokens. The attribute `measurements` has what --json prints. Throws FileError.
void write_load(const std::filesystem::path& path, const LoadReport& report, const Provenance& provenance);

}  // namespace voltpile::llm
