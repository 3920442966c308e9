// A number that an app adds to the progress line: "batch 37", "cache 61 %".
#pragma once

#include <string>
#include <vector>

namespace voltpile {

struct Gauge {
    enum class Kind : int {
        Rate,  // `value` grows; shown is by how much a second, of all teams together
        Sum,   // of all teams
        Mean,  // of those that tell it
    };
    std::string name;
    std::string unit;  // empty: none
    Kind kind = Kind::Sum;
    double value = 0;
    bool operator==(const Gauge&) const = default;
};

// One of each name, in the order in which names first occur.
std::vector<Gauge> merged(const std::vector<std::vector<Gauge>>& by_rank);

}  // namespace voltpile
