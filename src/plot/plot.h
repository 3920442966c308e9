// Draws a picture of a field: `voltpile plot`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "results/result_reader.h"

namespace voltpile {

struct PlotOptions {
    std::string field{};             // empty: the first field
    std::filesystem::path output{};  // empty: <result>.png; <result>_<field>.png unless it is the first field
    std::vector<std::string> at{};   // "name=index" for every dimension beyond the first two axes
    std::vector<std::string> crop{};  // "name=from:to", in values of an axis
    std::filesystem::path against{};  // a second result, drawn beside the first one, and their difference
    std::string map{};                // empty: inferno; classes for an enumeration, twilight for an angle
    std::string scaling{};            // linear, log or equalized; empty: see plot()
    double period = 0;                // of a field that is an angle; 0: it is none
    std::vector<double> contours{};   // values of contour lines
    bool shade = false;               // hill shading
    std::int64_t size = 0;            // pixels along the longer side, at most; 0: at least 800
    bool bare = false;                // the field alone, without axes, titles and color bar
    bool deep = false;                // 16 bits a color
};

// Draws the field as a PNG, row by row, and returns the picture's path. The first axis runs to the right, the
// second downwards with its first value at the top; one axis makes a strip. Axes, a title and a color bar
// surround the field. Colors show `plot_from - value`, or the value itself, from the least to the greatest
// finite one. Automatic scaling is linear, but logarithmic for a field without plot_from whose values are all
// positive and span more than a factor of 1000. Points without a color (NaN, infinite, not yet computed, not
// positive on a logarithmic scale) have missing_color(), and the legend counts them. More points than `size`
// are averaged over square blocks (plot/plane.h). Memory does not grow with the result. Throws JobError for
// options that do not fit the field, and FileError.
std::filesystem::path plot(const ResultReader& result, const PlotOptions& options);

struct TerminalSize {
    std::int64_t columns = 80, rows = 24;
};

// Returns the same picture as text for a terminal with 24-bit colors, without axes, averaged to fit it.
// Ignores output, against, size, bare and deep. Throws as plot() does.
std::string terminal_plot(const ResultReader& result, const PlotOptions& options, const TerminalSize& size);

}  // namespace voltpile
