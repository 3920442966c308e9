// Draws charts of measurements over message sizes as an SVG picture for browsers, with both axes logarithmic
// and labels as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace voltpile {

struct ChartLine {
    std::string name;
    std::vector<std::pair<double, double>> points;  // (bytes, value), both positive; others are omitted
};

struct SizeChart {
    std::string title;
    std::string value_label;  // of the vertical axis, with the unit
    std::vector<ChartLine> lines;

    // Returns the line of that name, after creating it if necessary.
    ChartLine& line(const std::string& name);
};

// Returns the charts one below the other. Charts without points are omitted.
std::string to_svg(const std::vector<SizeChart>& charts);

}  // namespace voltpile
