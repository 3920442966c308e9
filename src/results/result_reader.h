// Reads the values of a result, finished or not.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/field.h"
#include "results/result_layout.h"
#include "work/range_set.h"

namespace voltpile {

class ResultReader {
  public:
    // Opens the finished file at `path`, or the parts of an unfinished result (see result_source in
    // results/admission.h). Throws JobError if there is neither, or if the file is damaged or not a result of
    // Voltpile.
    explicit ResultReader(const std::filesystem::path& path);
    ~ResultReader();

    const std::filesystem::path& path() const;  // as given
    const ResultLayout& layout() const;
    const Provenance& provenance() const;  // of an unfinished result only what is known so far
    bool complete() const;
    // The points that have values. Of a refined sweep all have one once its coarsest grid is computed.
    const RangeSet& completed() const;
    // How many points are done: committed by a run, computed or left out.
    std::int64_t done() const;
    // How many points of a refined sweep were computed; nothing if it is unfinished, or not refined.
    std::optional<std::int64_t> computed() const;

    // Returns the values of a field over a range as doubles, point by point and component by component; NaN
    // where a point is not computed. Throws FileError.
    std::vector<double> read(const FieldSpec& field, WorkRange range) const;

    // Returns the rows of a variable field (results/rows.h); empty rows where a point is not computed. Throws
    // FileError.
    FieldBuffer read_rows(const FieldSpec& field, WorkRange range) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace voltpile
