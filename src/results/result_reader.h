// Reads a result, finished or not, for `voltpile show` and `voltpile plot`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "results/field.h"
#include "results/result_layout.h"
#include "work/range_set.h"

namespace voltpile {

class ResultReader {
  public:
    // `path` is the consolidated file; if it is not there but its parts are, those are read (unfinished).
    // Throws JobError if there is neither, or if the file is no Voltpile result.
    explicit ResultReader(const std::filesystem::path& path);
    ~ResultReader();

    const std::filesystem::path& path() const;  // as given
    const ResultLayout& layout() const;
    const Provenance& provenance() const;  // empty strings where an unfinished result does not know yet
    bool complete() const;
    const RangeSet& completed() const;

    // Values of a field over a range, as double, point by point and component by component; NaN where not
    // computed.
    std::vector<double> read(const FieldSpec& field, WorkRange range) const;

    // Of a variable field (results/rows.h); empty where not computed.
    FieldBuffer read_rows(const FieldSpec& field, WorkRange range) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace voltpile
