// Chooses the ticks of a picture's scales and their labels.
#pragma once

#include <string>
#include <vector>

namespace voltpile {

struct Tick {
    double value = 0;
    std::string label;
};

// Returns ticks at the multiples of a step between two finite ends, given in either order. The step is 1, 2
// or 5 times a power of ten: the smallest of at least `least_step` that makes no more than `most` ticks.
// Returns none if no multiple lies there, or if doubles of that size cannot represent such steps.
std::vector<Tick> linear_ticks(double end, double other_end, int most, double least_step = 0);

// Returns ticks at powers of ten between two ends, 0 < low <= high: all of them, or every 2nd, 3rd, ..., so
// that there are no more than `most`.
std::vector<Tick> decade_ticks(double low, double high, int most);

}  // namespace voltpile
