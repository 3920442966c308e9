// Draws a picture of a field: `voltpile plot`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/result_reader.h"

namespace voltpile {

struct PlotOptions {
    std::string field{};             // empty: the first field
    std::filesystem::path output{};  // empty: <result>.png; <result>_<field>.png unless it is the first field
    std::vector<std::string> at{};   // "name=index" for every dimension beyond the first two axes
    int scale = 0;      // pixels per point and side; 0: enough for at least 800 on the longer side
    bool bare = false;  // the field alone, without axes, titles and color bar
};

// Draws the field as a PNG, row by row, and returns the picture's path. The first axis runs to the right, the
// second downwards with its first value at the top; one axis makes a strip. Axes, a title and a color bar
// surround the field. Colors are "inferno", linear from the least to the greatest finite value of `plot_from
// - value`, or of the value itself, then logarithmic if all are positive and span more than a factor of 1000.
// NaN and values not yet computed are gray. Throws JobError for options that do not fit the field, and
// FileError.
std::filesystem::path plot(const ResultReader& result, const PlotOptions& options);

}  // namespace voltpile
