// Selects the points of a result that a picture shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/result_layout.h"

namespace voltpile {

// One component of width x height points from first_point on; the first axis runs to the right, the second
// down.
struct Slice {
    std::int64_t width = 1;
    std::int64_t height = 1;
    std::int64_t first_point = 0;
    std::int64_t row_stride = 1;     // points between the same places of two rows
    std::int64_t left = 0, top = 0;  // indices of the first point along the two axes
    std::size_t component = 0;
    std::string place;  // the place on the other dimensions: "z = 0.5, body moon"; may be empty
};

// at: "name=index" for each axis beyond the second and each of the field's own dimensions. Throws a JobError
// that lists the choices.
Slice make_slice(const ResultLayout& layout, const FieldSpec& field, const std::vector<std::string>& at);

// Cuts the slice down to the points between two values of an axis, which may come in either order. crops:
// "name=from:to" for one or both of the axes that are drawn. Throws JobError that names the axis and its
// ends.
Slice cropped(Slice slice, const ResultLayout& layout, const std::vector<std::string>& crops);

}  // namespace voltpile
