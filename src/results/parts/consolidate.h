// Parts -> one ordinary HDF5 file, the only one that users need to open. See docs/result_file.md.
#pragma once

#include <memory>
#include <vector>

#include "results/parts/part_folder.h"
#include "results/result_layout.h"

namespace voltpile {

// A result in the making: parts are copied in as they come, in any order, into a temporary file of the life,
// which takes the result's name only when the whole sweep is covered. Memory does not grow with the sweep.
// Until then the result and the parts are as they were. One at a time of each life; for one thread at a time.
// All calls throw FileError (TakenOverError).
class Consolidation {
  public:
    Consolidation(Life life, const ResultLayout& layout);
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
void consolidate(const Life& life, const ResultLayout& layout, const std::vector<PartInfo>& parts,
                 const Provenance& provenance);

}  // namespace voltpile
