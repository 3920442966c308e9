#include "plot/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace voltpile {
namespace {

// Outside these bounds labels have exponents.
constexpr int most_digits = 6, most_decimals = 5;

// Up to this many steps from zero, doubles represent each step.
constexpr double most_steps = 1e14;

// Tolerance for rounded ends and values, in steps.
constexpr double slack = 1e-6;

// Returns digit * 10^power as the double that parsing such a text gives.
double decimal(int digit, int power) {
    return std::strtod(fmt::format("{}e{}", digit, power).c_str(), nullptr);
}

int power_of_ten(double value) {
    return static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
}

// Shortens "1.50e-08" to "1.50e-8".
std::string short_exponent(std::string text) {
    const auto e = text.find('e');
    if (e == std::string::npos) return text;
    const int exponent = std::atoi(text.c_str() + e + 1);
    return fmt::format("{}e{}", text.substr(0, e), exponent);
}

// Formats with enough digits to distinguish multiples of 10^power.
std::string label(double value, int power, double largest) {
    if (value == 0) return "0";
    const int decimals = std::max(0, -power);
    if (power_of_ten(largest) < most_digits && decimals <= most_decimals)
        return fmt::format("{:.{}f}", value, decimals);
    return short_exponent(fmt::format("{:.{}e}", value, std::max(0, power_of_ten(value) - power)));
}

}  // namespace

std::vector<Tick> linear_ticks(double end, double other_end, int most, double least_step) {
    const double low = std::min(end, other_end), high = std::max(end, other_end);
    const double largest = std::max(std::abs(low), std::abs(high));
    if (most < 1 || !(high > low) || !std::isfinite(high - low)) return {};
    for (int power = power_of_ten((high - low) / most) - 1; power < 308; ++power) {
        for (const int digit : {1, 2, 5}) {
            const double step = decimal(digit, power);
            if (!(step > 0) || step < least_step) continue;
            if (largest / step > most_steps) continue;
            const auto first = static_cast<std::int64_t>(std::ceil(low / step - slack));
            const auto last = static_cast<std::int64_t>(std::floor(high / step + slack));
            if (last - first >= most) continue;
            std::vector<Tick> ticks;
            for (std::int64_t i = first; i <= last; ++i) {
                const double value = static_cast<double>(i) * step;
                ticks.push_back({value, label(value, power, largest)});
            }
            return ticks;
        }
    }
    return {};
}

std::vector<Tick> decade_ticks(double low, double high, int most) {
    const int first = static_cast<int>(std::ceil(std::log10(low) - slack));
    const int last = static_cast<int>(std::floor(std::log10(high) + slack));
    const int every = std::max(1, (last - first) / std::max(most, 1) + 1);
    std::vector<Tick> ticks;
    for (int power = last; power >= first; power -= every)
        ticks.push_back({decimal(1, power), power >= -2 && power <= 3 ? fmt::format("{:g}", decimal(1, power))
                                                                      : fmt::format("1e{}", power)});
    std::ranges::reverse(ticks);
    return ticks;
}

}  // namespace voltpile
