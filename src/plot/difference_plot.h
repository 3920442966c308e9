// Draws by how much a field differs between two results: `voltpile compare --png`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plot/picture.h"
#include "plot/plane.h"
#include "results/result_reader.h"

namespace voltpile {

struct DifferencePlotOptions {
    std::filesystem::path output{};
    std::vector<std::string> at{};  // as in PlotOptions
};

// Returns the picture of |second - first|. The planes, of the same slice of the two results, must outlive it.
Picture difference_picture(const Plane& first_plane, const Plane& second_plane, const ResultReader& first,
                           const ResultReader& second, const FieldSpec& field, ColorMap map);

// Draws |second - first| of a field as `plot` draws a field. The color scale is logarithmic, from the least
// difference that is not zero, if the differences span more than a factor of 1000; equal values are black
// then. field: one of fields_to_compare(). Throws JobError for options that do not fit the field, and
// FileError.
void plot_difference(const ResultReader& first, const ResultReader& second, const FieldSpec& field,
                     const DifferencePlotOptions& options);

}  // namespace voltpile
