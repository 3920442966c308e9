#include "rootmap/reference_orbit.h"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cctype>

namespace voltpile::rootmap {

namespace {

using LongNumber =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<300>, boost::multiprecision::et_off>;

// Skips digits from `at` on; returns how many there are.
std::size_t skip_digits(const std::string& text, std::size_t& at) {
    const std::size_t begin = at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
    return at - begin;
}

void skip_sign(const std::string& text, std::size_t& at) {
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
}

}  // namespace

bool is_decimal(const std::string& text) {
    std::size_t at = 0;
    skip_sign(text, at);
    std::size_t digits = skip_digits(text, at);
    if (at < text.size() && text[at] == '.') digits += skip_digits(text, ++at);
    if (digits == 0) return false;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        skip_sign(text, ++at);
        const std::size_t exponent_digits = skip_digits(text, at);
        if (exponent_digits == 0 || exponent_digits > 4) return false;
    }
    return at == text.size();
}

std::vector<double> reference_orbit(const std::vector<std::string>& center, int max_iterations,
                                    double escape_radius) {
    const LongNumber cx(center[0]), cy(center[1]);
    LongNumber x = 0, y = 0;
    std::vector<double> orbit = {0, 0};
    for (int n = 0; n < max_iterations; ++n) {
        const LongNumber next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        const auto re = static_cast<double>(x), im = static_cast<double>(y);
        orbit.push_back(re);
        orbit.push_back(im);
        if (!(re * re + im * im <= escape_radius * escape_radius)) break;
    }
    return orbit;
}

}  // namespace voltpile::rootmap
