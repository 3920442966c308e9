// The Runge-Kutta-Nystrom pair of orders 8 and 6 with nine stages, RKN8(6)9FM of J. R. Dormand, M. E. A.
// El-Mikkawy and P. J. Prince (High-order embedded Runge-Kutta-Nystrom formulae, IMA Journal of Numerical
// Analysis 7, 423-430, 1987). It is made for forces that depend only on positions; the last stage is the
// first one of the next step, so a step costs eight evaluations, against twelve of a Runge-Kutta method of
// order 8.
#pragma once

#include "sweep/fraction.h"
#include "sweep/inverse_cube.h"
#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Motion: has the members x, v and a, arrays of the same length: positions, velocities and accelerations.
// Forces: accelerations(x, forces, a), found by argument-dependent lookup, computes a at x.
struct Nystrom8 {
    static constexpr int stages = 9;

    // Advances `from` by h to `to`. error: the estimated errors of to.v.
    template <class Real, class Motion, class Forces, int numbers>
    static VOLTPILE_HD void attempt(const Motion& from, Real h, const Forces& forces, Motion& to,
                                    Real (&error)[numbers]) {
        Real k[stages][numbers];
        VOLTPILE_UNROLL
        for (int c = 0; c < numbers; ++c) k[0][c] = from.a[c];
        stage<1>(from, h, forces, to, k);
        stage<2>(from, h, forces, to, k);
        stage<3>(from, h, forces, to, k);
        stage<4>(from, h, forces, to, k);
        stage<5>(from, h, forces, to, k);
        stage<6>(from, h, forces, to, k);
        stage<7>(from, h, forces, to, k);
        stage<8>(from, h, forces, to, k);
        VOLTPILE_UNROLL
        for (int c = 0; c < numbers; ++c) {
            to.v[c] = fma(h, sum<velocity_row>(k, c), from.v[c]);
            error[c] = h * sum<error_row>(k, c);
            to.a[c] = k[stages - 1][c];
        }
    }

  private:
    static constexpr int velocity_row = 9;
    static constexpr int error_row = 10;

    // Rows 1 to 8: of the positions of the stages; the last is the new position. Then the weights of the new
    // velocity, and their difference to those of order 6.
    static VOLTPILE_HD constexpr Fraction coefficient(int row, int column) {
        constexpr Fraction table[11][9] = {
            {},
            {{1, 800}},
            {{1, 600}, {1, 300}},
            {{9, 200}, {-9, 100}, {9, 100}},
            {{-66701, 197352}, {28325, 32892}, {-2665, 5482}, {2170, 24669}},
            {{227015747, 304251000},
             {-54897451, 30425100},
             {12942349, 10141700},
             {-9499, 304251},
             {539, 9250}},
            {{-1131891597, 901789000},
             {41964921, 12882700},
             {-6663147, 3220675},
             {270954, 644135},
             {-108, 5875},
             {114, 1645}},
            {{13836959, 3667458},
             {-17731450, 1833729},
             {1063919505, 156478208},
             {-33213845, 39119552},
             {13335, 28544},
             {-705, 14272},
             {1645, 57088}},
            {{223, 7938}, {}, {1175, 8064}, {925, 6048}, {41, 448}, {925, 14112}, {1175, 72576}, {}},
            {{223, 7938},
             {},
             {5875, 36288},
             {4625, 21168},
             {41, 224},
             {4625, 21168},
             {5875, 36288},
             {223, 7938},
             {}},
            {{-544307, 12215700},
             {},
             {544307, 4467456},
             {-544307, 2606016},
             {1632921, 6204800},
             {-544307, 2606016},
             {544307, 4467456},
             {322012, 3053925},
             {-3, 20}},
        };
        return table[row][column];
    }
    static VOLTPILE_HD constexpr Fraction node(int row) {
        constexpr Fraction table[stages] = {{},      {1, 20}, {1, 10}, {3, 10}, {1, 2},
                                            {7, 10}, {9, 10}, {1, 1},  {1, 1}};
        return table[row];
    }
    template <int row, int column, class Real>
    static VOLTPILE_HD Real coefficient_of() {
        constexpr double high = coefficient(row, column).high();
        constexpr double low = coefficient(row, column).low();
        return Constant<Real>::of(high, low);
    }

    // Returns the sum of coefficient(row, j) k[j][c] over the stages that the row has.
    template <int row, int j = 1, class Real, int numbers>
    static VOLTPILE_HD Real sum(const Real (&k)[stages][numbers], int c, Real sum_before) {
        if constexpr (j == stages || (row < stages && j >= row)) {
            return sum_before;
        } else if constexpr (coefficient(row, j).numerator == 0) {
            return sum<row, j + 1>(k, c, sum_before);
        } else {
            return sum<row, j + 1>(k, c, fma(k[j][c], coefficient_of<row, j, Real>(), sum_before));
        }
    }
    template <int row, class Real, int numbers>
    static VOLTPILE_HD Real sum(const Real (&k)[stages][numbers], int c) {
        return sum<row>(k, c, k[0][c] * coefficient_of<row, 0, Real>());
    }

    // Computes the stage's position, in to.x, and the accelerations there.
    template <int row, class Real, class Motion, class Forces, int numbers>
    static VOLTPILE_HD void stage(const Motion& from, Real h, const Forces& forces, Motion& to,
                                  Real (&k)[stages][numbers]) {
        constexpr double high = node(row).high();
        constexpr double low = node(row).low();
        const Real node_of_row = Constant<Real>::of(high, low);
        VOLTPILE_UNROLL
        for (int c = 0; c < numbers; ++c) {
            const Real path = fma(h, sum<row>(k, c), from.v[c] * node_of_row);
            to.x[c] = fma(h, path, from.x[c]);
        }
        accelerations(to.x, forces, k[row]);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
