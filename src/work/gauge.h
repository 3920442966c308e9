// A named number that an app adds to the progress line: "batch 37", "cache 61 %".
#pragma once

#include <string>
#include <vector>

namespace voltpile {

struct Gauge {
    enum class Kind : int {
        Rate,  // `value` grows; the line shows its increase per second, summed over teams
        Sum,   // over all teams
        Mean,  // over the teams that set it
    };
    std::string name;
    std::string unit;  // empty: none
    Kind kind = Kind::Sum;
    double value = 0;
    bool operator==(const Gauge&) const = default;
};

// Merges the gauges of all ranks: one of each name, in the order in which names first occur.
std::vector<Gauge> merged(const std::vector<std::vector<Gauge>>& by_rank);

}  // namespace voltpile
