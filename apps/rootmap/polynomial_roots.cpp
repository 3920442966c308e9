#include "rootmap/polynomial_roots.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace voltpile::rootmap {

namespace {

using Number = std::complex<long double>;

// Roots found this close to each other, relative to the largest, are one multiple root: rounding leaves a
// root of multiplicity m uncertain by about epsilon^(1/m).
constexpr long double merging_distance = 1e-5L;

// Finds all roots at once (O. Aberth, Math. Comp. 27, 339, 1973): each approximation takes Newton's step with
// the other ones divided out. Starts: on a circle within Cauchy's bound, turned off the axes.
std::vector<Number> approximate_roots(const Polynomial& polynomial) {
    const int degree = polynomial.degree;
    const auto coefficient = [&](int k) { return Number(polynomial.re[k], polynomial.im[k]); };
    long double radius = 0;
    for (int k = 0; k < degree; ++k)
        radius = std::max(radius, std::pow(std::abs(coefficient(k) / coefficient(degree)),
                                           1.0L / static_cast<long double>(degree - k)));
    std::vector<Number> roots;
    for (int i = 0; i < degree; ++i)
        roots.push_back(
            std::polar(std::max(radius, 1e-300L), (2 * std::numbers::pi_v<long double> * i + 0.7L) / degree));
    for (int round = 0; round < 500; ++round) {
        long double change = 0;
        for (int i = 0; i < degree; ++i) {
            Number& z = roots[static_cast<std::size_t>(i)];
            Number p = coefficient(degree), d = 0;
            for (int k = degree - 1; k >= 0; --k) {
                d = d * z + p;
                p = p * z + coefficient(k);
            }
            if (p == Number(0)) continue;
            Number others = 0;
            for (int k = 0; k < degree; ++k) {
                const Number gap = z - roots[static_cast<std::size_t>(k)];
                if (k != i && gap != Number(0)) others += Number(1) / gap;
            }
            const Number move = Number(1) / (d / p - others);
            if (!std::isfinite(std::abs(move))) continue;
            z -= move;
            change = std::max(change, std::abs(move));
        }
        if (change <= 1e-18L * radius) break;
    }
    return roots;
}

// In [0, 2 pi), where rounding beside the positive real axis counts as on it.
long double angle_of(Number z) {
    const long double angle = std::arg(z);
    if (std::abs(angle) < 1e-12L) return 0;
    return angle < 0 ? angle + 2 * std::numbers::pi_v<long double> : angle;
}

bool comes_before(Number a, Number b) {
    const long double turn = angle_of(a) - angle_of(b);
    return std::abs(turn) > 1e-12L ? turn < 0 : std::abs(a) < std::abs(b);
}

}  // namespace

RootList find_roots(const Polynomial& polynomial, double tolerance) {
    const std::vector<Number> all = approximate_roots(polynomial);
    long double scale = 0;
    for (const Number& z : all) scale = std::max(scale, std::abs(z));
    std::vector<Number> sums;  // of the members of each cluster
    std::vector<int> members;
    for (const Number& z : all) {
        std::size_t found = 0;
        while (found < sums.size() && std::abs(sums[found] / static_cast<long double>(members[found]) - z) >
                                          merging_distance * scale)
            ++found;
        if (found == sums.size()) {
            sums.emplace_back(0);
            members.push_back(0);
        }
        sums[found] += z;
        ++members[found];
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] /= static_cast<long double>(members[i]);
        // Exactly real or imaginary where it is so but for rounding.
        const long double rounding = 1e-15L * scale;
        if (std::abs(sums[i].imag()) < rounding) sums[i].imag(0);
        if (std::abs(sums[i].real()) < rounding) sums[i].real(0);
    }
    std::sort(sums.begin(), sums.end(), comes_before);

    RootList list;
    list.radius = 1000 * tolerance + static_cast<double>(merging_distance * scale);
    for (const Number& z : sums) {
        list.re[list.count] = static_cast<double>(z.real());
        list.im[list.count] = static_cast<double>(z.imag());
        ++list.count;
    }
    return list;
}

}  // namespace voltpile::rootmap
