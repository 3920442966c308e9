// From a field and the options of `voltpile plot` to a picture, step by step. Throws JobError for options
// that do not fit the field, and FileError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plot/picture.h"
#include "plot/plane.h"
#include "plot/plot.h"

namespace voltpile {

// Returns the field of this name; the first for "".
const FieldSpec& chosen_field(const ResultLayout& layout, const std::string& name);

// Returns the points that the options choose.
Slice wanted_slice(const ResultLayout& layout, const FieldSpec& field, const PlotOptions& options);

// Returns how many points a side of a block has, so that the picture is no larger than `pixels`; 0: any.
std::int64_t block_size(const Slice& slice, std::int64_t pixels);

// Returns the colors that the options choose, without the range of the values.
ColorScale wanted_scale(const FieldSpec& field, const PlotOptions& options);

// All that a picture has but colors and description. plane, field: must outlive it.
Picture uncolored_picture(const ResultReader& result, const Plane& plane, const FieldSpec& field);

// at: the place on further dimensions, for the description.
void set_colors(Picture& picture, const FieldSpec& field, ColorScale colors,
                const std::vector<std::string>& at);

// Returns the whole picture, with colors for its own values.
Picture field_picture(const ResultReader& result, const Plane& plane, const FieldSpec& field,
                      const PlotOptions& options);

// Refuses levels that the picture does not have.
void check_contours(const std::vector<double>& contours, const Picture& picture);

}  // namespace voltpile
