#include "llm/model/expert_load.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace voltpile::llm {
namespace {

// The expected largest of n standard normal variables: exact up to 8, then
// Cramer's asymptote, moved by what it is off at 16.
double largest_of_normals(int n) {
    constexpr double kExact[] = {0, 0.5642, 0.8463, 1.0294, 1.1630, 1.2672, 1.3522, 1.4236};
    if (n <= std::ssize(kExact)) return kExact[std::max(n, 1) - 1];
    const double spread = std::sqrt(2 * std::log(n));
    return spread - (std::log(std::log(n)) + std::log(4 * std::numbers::pi)) / (2 * spread) + 0.17;
}

}  // namespace

double busiest_rank(double experts, int ranks, double used) {
    const double all = experts / ranks, mean = used * all;
    return std::min(std::ceil(all), mean + largest_of_normals(ranks) * std::sqrt(mean * (1 - used))) / mean;
}

}  // namespace voltpile::llm
