// A picture of a field: `voltpile plot`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/result_reader.h"

namespace voltpile {

struct PlotOptions {
    std::string field{};             // empty: the first
    std::filesystem::path output{};  // empty: <result>.png; <result>_<field>.png unless it is the first field
    std::vector<std::string> at{};   // "name=index" for every dimension beyond the first two axes
    int scale = 0;                   // pixels per point and side; 0: so that the longer side has at least 800
    bool bare = false;               // the field alone, without axes, titles and color bar
};

// Draws the field as a PNG, streaming: the first axis to the right, the second downwards from its first value
// at the top; with both axes, a title and a color bar around it; inferno, linear from the least to the
// greatest finite value of `plot_from - value` (or of the value itself, then logarithmic if positive and
// spanning more than a factor of 1000); gray where NaN or not computed. One axis makes a strip. Returns the
// picture's path. Throws JobError for options that do not fit, FileError.
std::filesystem::path plot(const ResultReader& result, const PlotOptions& options);

}  // namespace voltpile
