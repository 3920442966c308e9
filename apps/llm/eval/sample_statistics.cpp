#include "llm/eval/sample_statistics.h"

#include <algorithm>
#include <cmath>

namespace voltpile::llm {

SampleMean mean_of(std::span<const double> values) {
    const auto count = static_cast<double>(values.size());
    SampleMean result;
    for (const double value : values) result.mean += value / count;
    if (values.size() < 2) return result;
    double squares = 0;
    for (const double value : values) squares += (value - result.mean) * (value - result.mean);
    result.standard_error = std::sqrt(squares / (count - 1) / count);
    return result;
}

double quantile(const std::vector<double>& values, double q) {
    const double place = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace voltpile::llm
