#include "results/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace voltpile {
namespace {

// Numbers from 0 to infinity have the order of their bits. Keeps 11 bits of exponent and 10 of the mantissa.
constexpr int kBitsDropped = 42;
constexpr std::size_t kBins =
    (std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity()) >> kBitsDropped) + 1;

}  // namespace

void Quantiles::add(double value) {
    if (counts_.empty()) counts_.resize(kBins);
    ++counts_[std::bit_cast<std::uint64_t>(value) >> kBitsDropped];
    ++total_;
}

double Quantiles::at(double share) const {
    const auto before = static_cast<std::int64_t>(share * static_cast<double>(total_ - 1));
    std::int64_t passed = 0;
    for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
        passed += counts_[bin];
        if (passed > before) return std::bit_cast<double>(static_cast<std::uint64_t>(bin) << kBitsDropped);
    }
    return std::numeric_limits<double>::quiet_NaN();
}

void DifferenceStatistics::add(double first, double second) {
    ++count;
    if (std::isnan(first) || std::isnan(second)) {
        const bool both = std::isnan(first) && std::isnan(second);
        ++(both ? nan_in_both : nan_in_one);
        ++(both ? identical : beyond);
        return;
    }
    if (first == second) {
        ++identical;
        absolute.add(0);
        relative.add(0);
        return;
    }
    const double difference = std::abs(second - first);
    const double larger = std::max(std::abs(first), std::abs(second));
    // An infinity against anything else differs by all of it.
    const double part = std::isinf(larger) ? 1 : difference / larger;
    absolute.add(difference);
    relative.add(part);
    max_absolute = std::max(max_absolute, difference);
    max_relative = std::max(max_relative, part);
    if (difference > limits_.absolute && part > limits_.relative) ++beyond;
}

void DifferenceStatistics::add_other(bool same) {
    ++count;
    ++(same ? identical : beyond);
}

std::string share_text(std::int64_t part, std::int64_t whole) {
    if (whole == 0) return "-";
    if (part == whole) return "100 %";
    if (part == 0) return "0 %";
    const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
    return fmt::format("{:.4f} %", std::clamp(percent, 0.0001, 99.9999));
}

}  // namespace voltpile
