// Draws by how much a field differs between two results: `voltpile compare --png`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/result_reader.h"

namespace voltpile {

struct DifferencePlotOptions {
    std::filesystem::path output{};
    std::vector<std::string> at{};  // as in PlotOptions
};

// Draws |second - first| of a field as `plot` draws a field. The color scale is logarithmic, from the least
// difference that is not zero, if the differences span more than a factor of 1000; equal values are black
// then. field: one of fields_to_compare(). Throws JobError for options that do not fit the field, and
// FileError.
void plot_difference(const ResultReader& first, const ResultReader& second, const FieldSpec& field,
                     const DifferencePlotOptions& options);

}  // namespace voltpile
