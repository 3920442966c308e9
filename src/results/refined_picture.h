// Decides where a sweep refines its grid: keeps the picture that the levels so far give, and chooses the
// points of the next level in and around the cells whose corners differ. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "job/refinement.h"
#include "work/refined_level.h"
#include "work/refined_order.h"

namespace voltpile {

// Whether values at the corners of a cell differ by more than the threshold. NaN differs from numbers only.
bool corners_differ(std::span<const double> corners, const Refinement& rule);

class RefinedPicture {
  public:
    // Both must outlive the picture.
    RefinedPicture(const RefinedOrder& order, const Refinement& rule) : order_(order), rule_(rule) {}

    // Adds the next level. values: of the field, over level.positions(); those of points that are not chosen
    // do not matter: they get the value of the corner of their cell with the smallest places.
    void add(const RefinedLevel& level, std::span<const double> values);

    // Chooses among the points of the level after the last one that was added: those on the sides of and
    // inside the cells whose corners differ in the picture so far, and of cells up to Refinement::margin
    // away.
    RefinedLevel choose_next() const;

  private:
    double at(std::int64_t plane, std::int64_t row, std::int64_t column) const;
    std::vector<char> cells_to_divide(std::int64_t plane) const;

    const RefinedOrder& order_;
    const Refinement& rule_;
    int level_ = -1;              // the last one that was added
    std::vector<double> values_;  // on its grid, the columns fastest, the planes slowest
};

}  // namespace voltpile
