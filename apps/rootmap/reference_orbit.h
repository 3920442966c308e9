// The orbit of z^2 + c at the center of a deep zoom, in multiprecision.
#pragma once

#include <string>
#include <vector>

namespace voltpile::rootmap {

// Whether the text is a decimal number: "-0.75", "1.5e-3".
bool is_decimal(const std::string& text);

// Returns z_0 = 0, z_1, ..., rounded to FP64: x and y of each. They are computed with 300 decimal digits, for
// at most max_iterations steps, and end with the first point beyond escape_radius.
// center: [x, y] of c, decimal numbers.
std::vector<double> reference_orbit(const std::vector<std::string>& center, int max_iterations,
                                    double escape_radius);

}  // namespace voltpile::rootmap
