// Reads the full grid of a refined sweep from its parts, which hold positions (work/refined_order.h). Private
// to src/results. The caller holds an Hdf5Guard; all functions throw FileError.
#pragma once

#include <optional>
#include <vector>

#include "results/parts/part_file.h"
#include "results/parts/part_folder.h"
#include "results/refined_rows.h"
#include "results/result_layout.h"

namespace voltpile {

class RefinedParts {
  public:
    // parts: sorted, disjoint; not all positions need one. layout: must outlive the object.
    RefinedParts(const ResultLayout& layout, std::vector<PartInfo> parts);

    const RefinedOrder& order() const { return order_; }

    // Begins with a block of rows, as RefinedRows::begin() does.
    void begin(std::int64_t plane, WorkRange rows);
    std::int64_t computed() const { return rows_.computed(); }

    // Returns the values of a field at positions of one level; NaN where there is no part.
    std::vector<double> numbers_at(std::size_t field, WorkRange positions);
    // Returns the values of a field over these rows as they are stored.
    std::vector<std::byte> values(std::size_t field);
    // The same as numbers, NaN where the coarsest grid lacks a part.
    std::vector<double> numbers(std::size_t field);

  private:
    void read(std::size_t field, WorkRange positions, hid_t type, std::size_t bytes, std::byte* to);

    const ResultLayout& layout_;
    std::vector<PartInfo> parts_;
    RefinedOrder order_;
    std::size_t level_field_;
    std::vector<std::optional<PartFile>> open_;  // the part that each level was read from last
    RefinedRows rows_;
};

}  // namespace voltpile
