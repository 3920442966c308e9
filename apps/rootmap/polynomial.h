// Polynomials as people write them: "z^5 - z - 1", "(z - 1)^2 (z + 2i)".
#pragma once

#include <complex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rootmap/problem.h"

namespace voltpile::rootmap {

// What is wrong with a polynomial's text, in two lines more: the text, and a caret below the character.
class PolynomialError : public std::runtime_error {
  public:
    PolynomialError(const std::string& what, std::string_view text, std::size_t at);
};

// Returns the coefficients, that of z^k at [k], the last one not zero (unless all are). Numbers, z, i, + - *
// ^ and parentheses; a division by a constant; the sign * may be left out. Throws PolynomialError, also for
// a degree above most_degree.
std::vector<std::complex<double>> parse_polynomial(std::string_view text);

// coefficients: at most most_degree + 1.
Polynomial make_polynomial(const std::vector<std::complex<double>>& coefficients);

}  // namespace voltpile::rootmap
