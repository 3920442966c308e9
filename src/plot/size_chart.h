// Charts of measurements over message sizes, both axes logarithmic, as an SVG picture: text is text in it,
// and any browser shows it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace voltpile {

struct ChartLine {
    std::string name;
    std::vector<std::pair<double, double>> points;  // (bytes, value), both positive; others are left out
};

struct SizeChart {
    std::string title;
    std::string value_label;  // of the vertical axis, with the unit
    std::vector<ChartLine> lines;

    // The line of that name, made if there is none.
    ChartLine& line(const std::string& name);
};

// One below the other. Charts without points are left out.
std::string to_svg(const std::vector<SizeChart>& charts);

}  // namespace voltpile
