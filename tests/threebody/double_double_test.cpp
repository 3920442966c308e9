// Tests double-double numbers and maps that are computed in them against __float128, which has 113 bits to
// their 106.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "sweep/double_double.h"
#include "threebody/adaptive_pair.h"
#include "threebody/double_double_inverse_cube.h"
#include "threebody/integrators/rkn8.h"
#include "threebody/parameters.h"
#include "threebody/reference_problems.h"

namespace voltpile::threebody {

#if __LDBL_MANT_DIG__ == 113
using Quad = long double;
#else
__extension__ typedef __float128 Quad;
#endif
using Number106 = DoubleDouble<double>;

constexpr double kUnit106 = 0x1p-104;  // a few of it are the error of an operation

Quad to_quad(Number106 x) {
    return static_cast<Quad>(x.high) + static_cast<Quad>(x.low);
}

double relative_error(Number106 x, Quad exact) {
    const auto error = static_cast<double>((to_quad(x) - exact) / exact);
    return std::abs(error);
}

// Numbers with 106 random bits between 0.5 and 1, and a random power of two.
class RandomNumbers {
  public:
    Number106 next() {
        const double high = unit() * std::ldexp(1.0, static_cast<int>(bits() % 41) - 20);
        const double low = (unit() - 0.75) * std::ldexp(1.0, std::ilogb(high) - 53);
        return Number106::ordered_sum(bits() % 2 == 0 ? high : -high, low);
    }

  private:
    std::uint64_t bits() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return state_ >> 11;
    }
    double unit() { return 0.5 + static_cast<double>(bits()) * 0x1p-54; }
    std::uint64_t state_ = 1;
};

TEST(DoubleDouble, HasAHundredBitsInEveryOperation) {
    RandomNumbers random;
    for (int i = 0; i < 20000; ++i) {
        const Number106 a = random.next(), b = random.next();
        const Quad qa = to_quad(a), qb = to_quad(b);
        EXPECT_LT(relative_error(a * b, qa * qb), 8 * kUnit106);
        EXPECT_LT(relative_error(a / b, qa / qb), 16 * kUnit106);
        if (a.high * b.high > 0) {
            EXPECT_LT(relative_error(a + b, qa + qb), 4 * kUnit106);
        }
        // Cancellation leaves the rounding of the operands.
        const auto size = static_cast<double>(qa > 0 ? qa : -qa) + static_cast<double>(qb > 0 ? qb : -qb);
        EXPECT_LT(std::abs(static_cast<double>(to_quad(a - b) - (qa - qb))), 4 * kUnit106 * size);
    }
}

TEST(DoubleDouble, ComparesBeyondDouble) {
    const Number106 one(1.0), more = one + Number106(1e-25), less = one - Number106(1e-25);
    EXPECT_EQ(more.high, less.high);
    const Number106 yes(1.0), no(0.0);
    EXPECT_EQ(select_below(less, more, yes, no).high, 1);
    EXPECT_EQ(select_below(more, less, yes, no).high, 0);
    EXPECT_EQ(select_not_above(one, one, yes, no).high, 1);
    EXPECT_EQ(to_quad(smaller(more, less)), to_quad(less));
    EXPECT_EQ(to_quad(larger(more, less)), to_quad(more));
    const Number106 nan(std::nan(""));
    EXPECT_EQ(select_below(nan, one, yes, no).high, 0);
    EXPECT_EQ(select_not_above(nan, one, yes, no).high, 0);
    EXPECT_EQ(select_below(one, Number106(HUGE_VAL), yes, no).high, 1);
}

// The published recurrence in 113 bits. Returns how often the twins are together: the index of the first
// state whose separation exceeds the limit.
std::int32_t steps_together_of(const Problem& problem, std::int64_t point) {
    const Parameters p = parameters_at(problem, point);
    Quad x[2][3][3], v[2][3][3];
    for (int twin = 0; twin < 2; ++twin)
        for (int body = 0; body < 3; ++body)
            for (int c = 0; c < 3; ++c) {
                x[twin][body][c] = p.position[body][c];
                if (body == 0) x[twin][body][c] += static_cast<Quad>(p.displacement[c]);
                if (body == 0 && twin == 1) x[twin][body][c] += static_cast<Quad>(p.twin_shift[c]);
                v[twin][body][c] = p.velocity[body][c];
            }
    const auto root = [](Quad square) {  // Newton's iteration from the root in double
        Quad y = std::sqrt(static_cast<double>(square));
        for (int i = 0; i < 3; ++i) y = (y + square / y) / 2;
        return y;
    };
    const auto steps = static_cast<std::int32_t>(p.steps);
    for (std::int32_t s = 0; s < steps; ++s) {
        Quad apart = 0;
        for (int c = 0; c < 3; ++c) apart += (x[0][0][c] - x[1][0][c]) * (x[0][0][c] - x[1][0][c]);
        if (!(apart <= static_cast<Quad>(problem.separation * problem.separation))) return s;
        for (int twin = 0; twin < 2; ++twin) {
            Quad a[3][3] = {};
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                    if (i == j) continue;
                    Quad d[3], r2 = 0;
                    for (int c = 0; c < 3; ++c) d[c] = x[twin][j][c] - x[twin][i][c], r2 += d[c] * d[c];
                    const Quad pull = static_cast<Quad>(p.G) * p.mass[j] / (r2 * root(r2));
                    for (int c = 0; c < 3; ++c) a[i][c] += pull * d[c];
                }
            for (int i = 0; i < 3; ++i)
                for (int c = 0; c < 3; ++c) {
                    x[twin][i][c] += static_cast<Quad>(p.dt) * v[twin][i][c];
                    v[twin][i][c] += static_cast<Quad>(p.dt) * a[i][c];
                }
        }
    }
    return steps;
}

// Differences of the twins near 1e-21 grow by what they do in the published map, to a few 1e-21: FP64 loses
// them at the first addition. The separation at which the twins part is set so that it lies on their way.
TEST(DeepZoom, FollowsTwinsFarBelowTheSpacingOfDoubles) {
    Problem problem = deep_zoom(12000);
    problem.separation = 1e-20;
    std::vector<std::int32_t> exact;
    for (std::int64_t point = 0; point < 10; ++point) exact.push_back(steps_together_of(problem, point));
    EXPECT_LT(exact[0], 12000);  // they part on the way
    EXPECT_GT(exact[0], 100);
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const std::vector<Outcome> outcomes = processor.run(problem, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(outcomes[i].steps_together, exact[i]) << i;
        problem.double_double = false;
        // Both twins start at the same number.
        EXPECT_EQ(processor.run(problem, {0}).front().steps_together, 12000);
        problem.double_double = true;
    }
}

struct QuadSystem {
    Quad x[9], v[9];  // 3 * body + component
};

void quad_accelerations(const Parameters& p, const Quad (&x)[9], Quad (&a)[9]) {
    for (Quad& component : a) component = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            if (i == j) continue;
            Quad d[3], r2 = 0;
            for (int c = 0; c < 3; ++c) d[c] = x[3 * j + c] - x[3 * i + c], r2 += d[c] * d[c];
            Quad root = std::sqrt(static_cast<double>(r2));
            for (int k = 0; k < 3; ++k) root = (root + r2 / root) / 2;
            const Quad pull = static_cast<Quad>(p.G) * static_cast<Quad>(p.mass[j]) / (r2 * root);
            for (int c = 0; c < 3; ++c) a[3 * i + c] += pull * d[c];
        }
}

// One step of length h by the rule of Stoermer and Verlet in 1, 2, ... 12 substeps, extrapolated: order 24.
void quad_step(const Parameters& p, QuadSystem& s, Quad h) {
    constexpr int rows = 12;
    QuadSystem row[rows];
    for (int k = 0; k < rows; ++k) {
        const Quad part = h / (k + 1);
        QuadSystem now = s;
        Quad a[9];
        quad_accelerations(p, now.x, a);
        for (int i = 0; i <= k; ++i) {
            for (int c = 0; c < 9; ++c) {
                now.v[c] += part / 2 * a[c];
                now.x[c] += part * now.v[c];
            }
            quad_accelerations(p, now.x, a);
            for (int c = 0; c < 9; ++c) now.v[c] += part / 2 * a[c];
        }
        row[k] = now;
        for (int m = k - 1; m >= 0; --m) {  // Neville's scheme in the square of the length
            const Quad ratio = static_cast<Quad>((k + 1) * (k + 1)) / ((m + 1) * (m + 1)) - 1;
            for (int c = 0; c < 9; ++c) {
                row[m].x[c] = row[m + 1].x[c] + (row[m + 1].x[c] - row[m].x[c]) / ratio;
                row[m].v[c] = row[m + 1].v[c] + (row[m + 1].v[c] - row[m].v[c]) / ratio;
            }
        }
    }
    s = row[0];
}

QuadSystem quad_orbit(const Problem& problem, std::int64_t point, int steps, bool twin = false) {
    const Parameters p = parameters_at(problem, point);
    const ParameterSource& swept = problem.sources.displacement[0];
    QuadSystem s;
    for (int i = 0; i < 9; ++i) {
        s.x[i] = p.position[i / 3][i % 3];
        s.v[i] = p.velocity[i / 3][i % 3];
    }
    s.x[0] += static_cast<Quad>(swept.from) +
              (static_cast<Quad>(swept.to) - static_cast<Quad>(swept.from)) * point / swept.intervals;
    if (twin)
        for (int c = 0; c < 3; ++c) s.x[c] += static_cast<Quad>(p.twin_shift[c]);
    const Quad end = static_cast<Quad>(p.dt) * static_cast<Quad>(p.steps);
    for (int i = 0; i < steps; ++i) quad_step(p, s, end / steps);
    return s;
}

Problem with_rkn8_in_double_double(Problem problem) {
    problem.method = Method::RungeKuttaNystrom8;
    problem.tolerance = 1e-24;
    problem.most_steps = 1000000;
    return problem;
}

// To T = 1, relative to body 1. Errors per step below 1e-24 of the velocities add up over some thousand
// steps.
TEST(DeepZoom, Rkn8TellsNeighborsApart) {
    const Problem problem = with_rkn8_in_double_double(deep_zoom(1000));
    const AdaptiveDemands demands{problem.tolerance, 1, 1e6, {}};
    Number106 end[2];
    Quad exact[2];
    for (const int point : {0, 1}) {
        const ParameterSet<Number106> values = parameters_in<Number106>(problem, point);
        PairConstants<Number106> constants;
        set_pair_constants(values, constants, [](Number106& where, Number106 value) { where = value; });
        AdaptivePair<Number106, RelativeMotion<Number106>> pair;
        initial_motions(values, pair.first, pair.twin);
        start_pair(pair, constants, demands, values.dt);
        while (undecided(pair, constants, demands).high > 0)
            advance_pair<RungeKuttaNystrom8>(pair, constants, demands, NoWatch{});
        EXPECT_LT(pair.attempts.high, 1e5);
        const QuadSystem orbit = quad_orbit(problem, point, 60);
        const QuadSystem finer = quad_orbit(problem, point, 90);
        for (int i = 0; i < 6; ++i) {
            const Quad x = orbit.x[3 + i] - orbit.x[i % 3];
            EXPECT_LT(std::abs(static_cast<double>(x - (finer.x[3 + i] - finer.x[i % 3]))), 1e-27) << i;
            EXPECT_LT(std::abs(static_cast<double>(to_quad(pair.first.x[i]) - x)), 1e-21) << i;
        }
        end[point] = pair.first.x[0];
        exact[point] = orbit.x[3] - orbit.x[0];
    }
    // The starts differ by 1e-20, and errors of equal steps are nearly equal.
    const auto apart = static_cast<double>(exact[1] - exact[0]);
    EXPECT_GT(std::abs(apart), 1e-21);
    EXPECT_NEAR((end[1] - end[0]).high, apart, 1e-3 * std::abs(apart));
}

// The twins start 1.7e-21 apart and part when they are 2e-21 apart; the reference finds that time by
// bisection.
TEST(DeepZoom, Rkn8FindsWhenSuchTwinsPart) {
    Problem problem = with_rkn8_in_double_double(deep_zoom(3000));
    problem.tolerance = 1e-20;
    problem.separation = 2e-21;
    Problem part = problem;
    const auto gap = [&](double time) {
        set_time(part, time, 1);
        const QuadSystem first = quad_orbit(part, 0, 60), twin = quad_orbit(part, 0, 60, true);
        double squared = 0;
        for (int c = 0; c < 3; ++c) {
            const auto d = static_cast<double>(twin.x[c] - first.x[c]);
            squared += d * d;
        }
        return std::sqrt(squared) - problem.separation;
    };
    double low = 0.01, high = 3;
    ASSERT_LT(gap(low), 0);
    ASSERT_GT(gap(high), 0);
    for (int i = 0; i < 20; ++i) (gap((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const Outcome outcome = processor.run(problem, {0}).front();
        EXPECT_EQ(outcome.quality, static_cast<std::int32_t>(Quality::Complete));
        EXPECT_NEAR(outcome.time_together, low, 1e-5);
    }
}

// No operation is fused where that would matter, and r^-3 starts from integers.
TEST(DeepZoom, HasTheSameBitsOnEveryProcessor) {
    for (const Method method : {Method::Euler, Method::Leapfrog, Method::RungeKuttaNystrom8}) {
        Problem problem = with_rkn8_in_double_double(deep_zoom(method == Method::Euler ? 9000 : 3000));
        problem.method = method;
        problem.tolerance = 1e-16;
        problem.separation = 2e-21;
        problem.want_state = true;
        std::vector<Outcome> expected;
        for (const Processor& processor : cpu_processors()) {
            const std::vector<Outcome> outcomes = processor.run(problem, consecutive(0, 10));
            if (expected.empty()) expected = outcomes;
            for (std::size_t i = 0; i < outcomes.size(); ++i)
                EXPECT_TRUE(same_bits(outcomes[i], expected[i]))
                    << processor.name << " " << static_cast<int>(method) << " " << i;
        }
    }
}

TEST(DoubleDouble, HasExactFractions) {
    for (const Fraction f : {Fraction{1, 3}, Fraction{-1131891597, 901789000}, Fraction{54897451, 30425100},
                             Fraction{1, 2}, Fraction{1, 10}}) {
        const Quad exact = static_cast<Quad>(f.numerator) / static_cast<Quad>(f.denominator);
        EXPECT_LT(relative_error({f.high(), f.low()}, exact), kUnit106);
        EXPECT_EQ(f.high(), f.numerator / f.denominator);
    }
}

TEST(DeepZoom, DoesNotRoundTheSweptValuesToDouble) {
    Problem problem = deep_zoom(10);
    for (std::int64_t point = 0; point < 10; ++point) {
        const ParameterSet<Number106> values = parameters_in<Number106>(problem, point);
        const Quad at = to_quad(start_position(values, 0, 0));
        // from + (to - from) i / 10 with the ends' doubles.
        const Quad exact =
            static_cast<Quad>(5.30031) + static_cast<Quad>(-5e-20) +
            (static_cast<Quad>(5e-20) - static_cast<Quad>(-5e-20)) * static_cast<Quad>(point) / 10;
        EXPECT_LT(std::abs(static_cast<double>((at - exact) / exact)), kUnit106);
        EXPECT_EQ(start_position(parameters_at(problem, point), 0, 0), 5.30031);
    }
}

}  // namespace voltpile::threebody
