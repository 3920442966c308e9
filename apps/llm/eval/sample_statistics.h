// Statistics of a sample, equal to those of numpy's functions with these names.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace voltpile::llm {

struct SampleMean {
    double mean = 0;
    std::optional<double> standard_error;  // standard deviation (n - 1) / sqrt(n); none for one value
};

// Returns the mean of at least one value.
SampleMean mean_of(std::span<const double> values);

// Returns the q-quantile, 0 <= q <= 1, with linear interpolation between neighbors (definition 7 of Hyndman
// and Fan, The American Statistician 50, 361). values: at least one, in ascending order.
double quantile(const std::vector<double>& values, double q);

}  // namespace voltpile::llm
