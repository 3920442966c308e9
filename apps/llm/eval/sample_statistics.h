// Figures of a sample, as numpy's functions of these names give them.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace voltpile::llm {

struct SampleMean {
    double mean = 0;
    std::optional<double> standard_error;  // standard deviation (n - 1) / sqrt(n); none for a sample of one
};

// values: at least one.
SampleMean mean_of(std::span<const double> values);

// The value that the share 0 <= q <= 1 of the sample lies below, between two neighbors by linear
// interpolation (definition 7 of Hyndman and Fan, The American Statistician 50, 361). values: at least one,
// ascending.
double quantile(const std::vector<double>& values, double q);

}  // namespace voltpile::llm
