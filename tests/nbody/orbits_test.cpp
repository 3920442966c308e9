// Orbits against closed forms and published numbers, with all methods and on every level of instruction sets.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "nbody/references.h"
#include "nbody/run_job.h"

namespace voltpile::nbody::testing {
namespace {

constexpr double kPi = std::numbers::pi;
const std::vector<std::string> kAdaptive = {"rkn8", "gbs10"};

double distance(const double* a, const double* b) {
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// Two bodies of masses 1 and 0.5 on an ellipse of semi-major axis 1 and eccentricity e, in a tilted plane,
// body 1 at its pericenter; their center of mass drifts.
std::vector<Body> ellipse(double e) {
    const double r = 1 - e, speed = std::sqrt(1.5 * (1 + e) / (1 - e));
    std::vector<Body> bodies = {{.mass = 1}, {.mass = 0.5}};
    const double x[3] = {r, 0, 0}, v[3] = {0, 0.6 * speed, 0.8 * speed}, drift[3] = {0.1, 0.2, -0.3};
    for (int c = 0; c < 3; ++c) {
        bodies[0].x[c] = -x[c] / 3, bodies[1].x[c] = 2 * x[c] / 3;
        bodies[0].v[c] = drift[c] - v[c] / 3, bodies[1].v[c] = drift[c] + 2 * v[c] / 3;
    }
    return bodies;
}

// Where body 2 of the ellipse is at time t, by Kepler's equation.
void kepler(double e, double t, double (&x)[3]) {
    const double anomaly = std::sqrt(1.5) * t;
    double E = anomaly;
    for (int i = 0; i < 60; ++i) E -= (E - e * std::sin(E) - anomaly) / (1 - e * std::cos(E));
    const double along = std::cos(E) - e, across = std::sqrt(1 - e * e) * std::sin(E);
    const double r[3] = {along, 0.6 * across, 0.8 * across}, drift[3] = {0.1, 0.2, -0.3};
    for (int c = 0; c < 3; ++c) x[c] = drift[c] * t + 2 * r[c] / 3;
}

TEST(NbodyOrbits, AdaptiveMethodsFollowKeplersEllipse) {
    for (const CpuLevel level : usable_cpu_levels()) {
        for (const std::string& method : kAdaptive) {
            for (const double e : {0.0, 0.6, 0.95}) {
                const double t = 12.3;
                double expected[3];
                kepler(e, t, expected);
                const Outcome outcome =
                    run(system_of(ellipse(e)) + adaptive(method, t, 1e-12) + every_field(), {}, level).at(0);
                EXPECT_EQ(outcome.status, status(Status::End));
                EXPECT_EQ(outcome.final_time, t);
                // Errors of the phase grow with time; the speed at the pericenter multiplies them.
                EXPECT_LT(distance(position_of(outcome, 1), expected), 1e-9) << method << e << name(level);
                EXPECT_LT(outcome.energy_error, 1e-10);
                EXPECT_LT(outcome.angular_momentum_error, 1e-11);
                EXPECT_NEAR(outcome.closest_approach, 1 - e, 1e-7);  // within a step: a polynomial
            }
        }
    }
}

// The errors of the figure-eight after one period, and after one of twice as many steps, as the tests of the
// threebody app have them from tests/threebody/make_integrator_errors.py.
TEST(NbodyOrbits, FixedStepsReturnToTheFigureEightWithinTheirOrder) {
    const double vx = 0.93240737144104 / 2, vy = 0.86473146092102 / 2;
    const std::vector<Body> bodies = {{1, {0.97000435669734, -0.24308753153583, 0}, {vx, vy, 0}},
                                      {1, {-0.97000435669734, 0.24308753153583, 0}, {vx, vy, 0}},
                                      {1, {0, 0, 0}, {-2 * vx, -2 * vy, 0}}};
    struct Expected {
        const char* method;
        int steps;
        double error, error_of_half_steps, tolerance;
    };
    constexpr Expected expected[] = {{"euler", 1000, 1.268, 0.6669, 0.0005},
                                     {"leapfrog", 1000, 1.126e-4, 2.817e-5, 0.0005},
                                     {"yoshida4", 1000, 2.197e-7, 1.373e-8, 0.0005},
                                     {"srkn6", 50, 1.035e-8, 1.639e-10, 0.005},
                                     {"rk4", 1000, 9.301e-9, 5.257e-10, 0.005}};
    for (const CpuLevel level : usable_cpu_levels()) {
        for (const Expected& of : expected) {
            const auto error = [&](int steps) {
                const Outcome outcome =
                    run(system_of(bodies) + fixed_steps(of.method, 6.32591398292621, steps), {}, level).at(0);
                EXPECT_EQ(outcome.step_count, steps);
                double squared = 0;
                for (int i = 0; i < 3; ++i)
                    squared += std::pow(distance(position_of(outcome, i), bodies[i].x), 2);
                return std::sqrt(squared);
            };
            SCOPED_TRACE(of.method + std::string(name(level)));
            EXPECT_NEAR(error(of.steps), of.error, of.tolerance * of.error);
            EXPECT_NEAR(error(2 * of.steps), of.error_of_half_steps, of.tolerance * of.error_of_half_steps);
        }
    }
}

// n equal masses on a circle turn like a rigid body: w^2 = G m / (4 R^3) sum of 1 / sin(pi k / n), k < n.
TEST(NbodyOrbits, RegularPolygonsTurn) {
    constexpr double m = 0.7, R = 1.3, G = 2;
    for (int n = 2; n <= 8; ++n) {
        double sum = 0;
        for (int k = 1; k < n; ++k) sum += 1 / std::sin(kPi * k / n);
        const double w = std::sqrt(G * m / (4 * R * R * R) * sum), t = 0.5 * kPi / w;
        std::vector<Body> bodies;
        for (int i = 0; i < n; ++i) {
            const double at = 2 * kPi * i / n, c = std::cos(at), s = std::sin(at);
            bodies.push_back({m, {R * c, 0, R * s}, {-w * R * s, 0, w * R * c}});
        }
        const auto errors = [&](const std::string& integrate) {
            for (const CpuLevel level : usable_cpu_levels()) {
                const Outcome outcome =
                    run(system_of(bodies, G) + integrate + every_field(), {}, level).at(0);
                EXPECT_EQ(outcome.status, status(Status::End));
                for (int i = 0; i < n; ++i) {
                    const double at = 2 * kPi * i / n + 0.5 * kPi;
                    const double expected[3] = {R * std::cos(at), 0, R * std::sin(at)};
                    EXPECT_LT(distance(position_of(outcome, i), expected), 1e-9)
                        << i << " of " << n << integrate;
                }
                EXPECT_NEAR(outcome.closest_approach, 2 * R * std::sin(kPi / n), 1e-9);
                EXPECT_LT(outcome.energy_error, 1e-10);
            }
        };
        for (const char* const method : {"yoshida4", "srkn6", "rk4"}) errors(fixed_steps(method, t, 1000));
        for (const std::string& method : kAdaptive) errors(adaptive(method, t, 1e-12));
    }
}

// Burrau's problem (V. Szebehely and C. F. Peters, Astronomical Journal 72, 876, 1967): bodies 2 and 3 meet
// at 4.1390e-4 at t = 15.82992, and body 1 escapes upward from a binary of the others. There the rounding of
// positions of size 1 moves the distance by parts of a thousand, and the rest of the path by more.
TEST(NbodyOrbits, PythagoreanProblemEndsWithAnEscape) {
    const std::vector<Body> bodies = {{3, {1, 3, 0}, {}}, {4, {-2, -1, 0}, {}}, {5, {1, -1, 0}, {}}};
    for (const std::string& method : kAdaptive) {
        const std::string job = system_of(bodies) + adaptive(method, 100, 1e-13) + every_field(true);
        const Outcome outcome = run(job + "[stop]\nescape_distance = 10\n").at(0);
        EXPECT_EQ(outcome.status, status(Status::Escape)) << method;
        EXPECT_EQ(outcome.escaper, 1);
        EXPECT_NEAR(outcome.closest_approach, 4.1390e-4, 4.1390e-6);
        EXPECT_NEAR(outcome.closest_time, 15.82992, 1e-5);
        EXPECT_EQ(outcome.closest_pair, 2);  // 2-3
        const Outcome later = run(system_of(bodies) + adaptive(method, 70, 1e-13)).at(0);
        EXPECT_NEAR(position_of(later, 0)[0], 6.935, 0.5) << method;
        EXPECT_NEAR(position_of(later, 0)[1], 20.266, 1.0);
        EXPECT_LT(later.energy_error, 1e-8);  // a rounding of 1e-16 of a distance of 4e-4 at the meeting
    }
}

// On a circle: w^2 = G M / (r^2 + e^2)^(3/2).
TEST(NbodyOrbits, SoftenedPairTurnsSlower) {
    constexpr double r = 1.5, e = 0.8, M = 3;
    const double w = std::sqrt(M / std::pow(r * r + e * e, 1.5)), t = kPi / w;
    const std::vector<Body> bodies = {{1, {-r * 2 / 3, 0, 0}, {0, -w * r * 2 / 3, 0}},
                                      {2, {r / 3, 0, 0}, {0, w * r / 3, 0}}};
    for (const std::string& method : kAdaptive) {
        const Outcome outcome =
            run(system_of(bodies) + "softening = 0.8\n" + adaptive(method, t, 1e-13) + every_field()).at(0);
        EXPECT_NEAR(position_of(outcome, 0)[0], r * 2 / 3, 1e-11);
        EXPECT_NEAR(position_of(outcome, 0)[1], 0, 1e-11);
        EXPECT_LT(outcome.energy_error, 1e-12);
    }
}

// Circular orbits of bodies that do not attract each other: v^2 = r dPhi/dr.
TEST(NbodyOrbits, CentralPotentialsHaveTheirCircularVelocities) {
    constexpr double r = 2, b = 0.7;
    struct Case {
        std::string keys;
        double speed2, G;
    };
    const Case cases[] = {
        {"kind = \"point\"\ncentral_mass = 3\n", 2 * 3 / r, 2},
        {"kind = \"plummer\"\ncentral_mass = 3\nscale = 0.7\n", 2 * 3 * r * r / std::pow(r * r + b * b, 1.5),
         2},
        {"kind = \"harmonic\"\nfrequency = 1.5\n", 1.5 * 1.5 * r * r, 0},
        {"kind = \"logarithmic\"\nspeed = 1.1\nscale = 0.7\n", 1.1 * 1.1 * r * r / (r * r + b * b), 0},
    };
    for (const CpuLevel level : usable_cpu_levels()) {
        for (const Case& of : cases) {
            const double v = std::sqrt(of.speed2), quarter = 0.5 * kPi * r / v;
            const std::vector<Body> bodies = {{0, {r, 0, 0}, {0, v, 0}}, {0, {0, 0, -r}, {v, 0, 0}}};
            for (const std::string& integrate :
                 {adaptive("rkn8", quarter, 1e-13), adaptive("gbs10", quarter, 1e-13),
                  fixed_steps("srkn6", quarter, 1000)}) {
                const Outcome outcome =
                    run(system_of(bodies, of.G) + "[potential]\n" + of.keys + integrate, {}, level).at(0);
                const double first[3] = {0, r, 0}, second[3] = {r, 0, 0};
                EXPECT_LT(distance(position_of(outcome, 0), first), 1e-10) << of.keys << integrate;
                EXPECT_LT(distance(position_of(outcome, 1), second), 1e-10) << of.keys << integrate;
            }
        }
    }
}

TEST(NbodyOrbits, EnergyIncludesThePotential) {
    const std::vector<Body> bodies = {
        {1, {1, 0.2, 0}, {0, 0.7, 0.1}}, {0.5, {0, -2, 0.3}, {0.6, 0, 0}}, {0.3, {0, 0, 3}, {0, 0.5, 0}}};
    for (const char* const keys :
         {"kind = \"point\"\ncentral_mass = 3\n", "kind = \"plummer\"\ncentral_mass = 3\nscale = 0.7\n",
          "kind = \"harmonic\"\nfrequency = 1.5\n", "kind = \"logarithmic\"\nspeed = 1.1\nscale = 0.7\n"}) {
        const Outcome outcome =
            run(system_of(bodies) + "[potential]\n" + keys + adaptive("rkn8", 7, 1e-13) + every_field())
                .at(0);
        EXPECT_LT(outcome.energy_error, 1e-11) << keys;
        EXPECT_LT(outcome.angular_momentum_error, 1e-11) << keys;
        const double moved = distance(position_of(outcome, 0), bodies[0].x);
        EXPECT_GT(moved, 0.01);
    }
}

// scipy's DOP853 at a tolerance of 1e-13 (make_references.py); on these starts errors grow less than
// thousandfold.
TEST(NbodyOrbits, RandomStartsEndWhereScipyTakesThem) {
    for (const Reference& of : references()) {
        const std::string job = system_of(of.start, kReferenceG) +
                                fmt::format("softening = {}\n", kReferenceSoftening) + of.potential;
        for (const std::string& integrate :
             {adaptive("rkn8", kReferenceTime, 1e-13), adaptive("gbs10", kReferenceTime, 1e-13),
              fixed_steps("srkn6", kReferenceTime, 6000)}) {
            for (const CpuLevel level : usable_cpu_levels()) {
                const Outcome outcome = run(job + integrate, {}, level).at(0);
                for (std::size_t i = 0; i < of.end.size(); ++i)
                    EXPECT_LT(distance(position_of(outcome, static_cast<int>(i)), of.end[i].x), 1e-9)
                        << of.end.size() << " bodies, " << integrate << name(level);
            }
        }
    }
}

}  // namespace
}  // namespace voltpile::nbody::testing
