// Parts -> one ordinary HDF5 file, the only one that users need to open. See docs/result_file.md.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "results/part_folder.h"
#include "results/result_layout.h"

namespace voltpile {

// A result in the making: parts are copied in as they come, in any order, into a temporary file beside
// `result`, which takes its name only when the whole sweep is covered. Memory does not grow with the sweep.
// Until then `result` and the parts are as they were, and a killed run leaves nothing but the temporary file,
// which the next one overwrites. For one thread at a time. All calls throw FileError.
class Consolidation {
  public:
    Consolidation(std::filesystem::path result, const ResultLayout& layout);
    ~Consolidation();  // removes the temporary file unless published
    Consolidation(const Consolidation&) = delete;
    Consolidation& operator=(const Consolidation&) = delete;

    void add(const PartInfo& part);  // its checksums are verified
    bool covers_all() const;

    // fsync, then rename. Every point must be covered.
    void publish(const Provenance& provenance);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// All at once. The parts must cover the whole sweep.
void consolidate(const std::filesystem::path& result, const ResultLayout& layout,
                 const std::vector<PartInfo>& parts, const Provenance& provenance);

// What is at a path where a result shall go.
enum class ResultState { Absent, Complete, OtherJob, NotOurs };
ResultState inspect_result(const std::filesystem::path& result, const std::string& fingerprint);

}  // namespace voltpile
