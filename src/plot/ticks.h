// Where the scales of a picture have ticks, and what is written at them.
#pragma once

#include <string>
#include <vector>

namespace voltpile {

struct Tick {
    double value = 0;
    std::string label;
};

// At the multiples of 1, 2 or 5 times a power of ten between two finite ends, given in either order: of such
// steps of at least `least_step` the smallest that makes no more than `most` ticks. None if no multiple lies
// there, or if numbers of that size cannot tell such steps apart.
std::vector<Tick> linear_ticks(double end, double other_end, int most, double least_step = 0);

// At powers of ten between two ends, 0 < low <= high: all of them, or every 2nd, 3rd, ... so that there are
// no more than `most`.
std::vector<Tick> decade_ticks(double low, double high, int most);

}  // namespace voltpile
