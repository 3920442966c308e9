// Copies parts into one ordinary HDF5 file, the only one that users need to open (docs/result_file.md).
#pragma once

#include <memory>
#include <vector>

#include "results/parts/part_folder.h"
#include "results/plan_record.h"
#include "results/result_layout.h"

namespace voltpile {

// A result in the making. Parts are copied in any order into a temporary file of the life, which gets the
// result's name when the whole sweep is covered. Until then the result and the parts stay as they are. Memory
// does not grow with the sweep. A life has one at a time, and one thread uses it at a time. All calls throw
// FileError (TakenOverError).
class Consolidation {
  public:
    Consolidation(Life life, const ResultLayout& layout);
    ~Consolidation();  // removes the temporary file unless published
    Consolidation(const Consolidation&) = delete;
    Consolidation& operator=(const Consolidation&) = delete;

    void add(const PartInfo& part);  // HDF5 verifies its checksums
    // Adds all parts of a refined sweep, in order: add() is for others.
    void add_refined(const std::vector<PartInfo>& parts);
    bool covers_all() const;

    // Writes the checksums, the provenance and the plan, if there is one, flushes the file and renames it.
    // All points must be covered.
    void publish(const Provenance& provenance, const PlanRecord* plan = nullptr);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Copies all parts and publishes the result. The parts are sorted and cover the whole sweep. Of a refined
// sweep it puts the full grid together.
void consolidate(const Life& life, const ResultLayout& layout, const std::vector<PartInfo>& parts,
                 const Provenance& provenance, const PlanRecord* plan = nullptr);

}  // namespace voltpile
