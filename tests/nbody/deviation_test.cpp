// Lyapunov exponents and MEGNO against derivatives of paths, theory and REBOUND.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "nbody/deviation_references.h"
#include "nbody/references.h"
#include "nbody/run_job.h"

namespace voltpile::nbody::testing {
namespace {

const std::string kGrowth = "[output]\nfields = [\"lyapunov_exponent\", \"megno\", \"final_state\"]\n";

// Line of the table [system] that shifts body i by shift[i].
std::string twin_shift(const std::vector<std::vector<double>>& shift) {
    std::string vectors;
    for (const std::vector<double>& of : shift)
        vectors += fmt::format("[{:.17g}, {:.17g}, {:.17g}], ", of[0], of[1], of[2]);
    return "twin_shift = [" + vectors + "]\n";
}

// A direction for n bodies without any symmetry.
std::vector<std::vector<double>> some_shift(std::size_t bodies) {
    std::vector<std::vector<double>> shift;
    for (std::size_t i = 0; i < bodies; ++i) {
        const double at = static_cast<double>(i);
        shift.push_back({std::cos(1 + 2 * at), std::sin(3 * at + 0.5), std::cos(5 * at + 2)});
    }
    return shift;
}

std::vector<Body> moved(std::vector<Body> bodies, double by) {
    const auto shift = some_shift(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i)
        for (std::size_t c = 0; c < 3; ++c) bodies[i].x[c] += by * shift[i][c];
    return bodies;
}

// ln(d / d0) by central differences of the last state.
double growth_by_difference(const std::string& potential, const std::vector<Body>& bodies,
                            const std::string& rest, CpuLevel level) {
    constexpr double by = 3e-6;
    const auto ended = [&](double direction) {
        return run(system_of(moved(bodies, direction * by), kReferenceG) + rest + potential + kGrowth, {},
                   level)
            .at(0);
    };
    const Outcome ahead = ended(1), behind = ended(-1);
    double squared = 0, squared_at_start = 0;
    for (std::size_t i = 0; i < 6 * bodies.size(); ++i)
        squared += std::pow((ahead.final_state[i] - behind.final_state[i]) / (2 * by), 2);
    for (const std::vector<double>& of : some_shift(bodies.size()))
        for (const double x : of) squared_at_start += x * x;
    return 0.5 * std::log(squared / squared_at_start);
}

TEST(NbodyDeviation, IsTheDerivativeOfTheStep) {
    std::vector<Reference> cases = references();
    cases.push_back({"[potential]\nkind = \"point\"\ncentral_mass = 2\n",
                     {{0.3, {1.2, 0.1, 0}, {0, 1.3, 0.2}}, {0, {-2, 0.3, 0.4}, {0.2, -1, 0}}},
                     {}});
    cases.push_back({"",
                     {{1, {0.1, 0, 0}, {0, -0.1, 0}},
                      {0.2, {1.4, 0, 0.2}, {0, 1, 0}},
                      {0.05, {-2.5, 0.3, 0}, {0, -0.8, 0.2}}},
                     {}});
    cases.push_back({"",
                     {{1, {0, 0, 0}, {}},
                      {0.1, {1.4, 0, 0.2}, {0, 1, 0}},
                      {0, {-2.5, 0.3, 0}, {0, -0.8, 0.2}},
                      {0.02, {0, 4, 0}, {-0.6, 0, 0}}},
                     {}});
    for (const CpuLevel level : usable_cpu_levels()) {
        for (const Reference& of : cases) {
            for (const char* const method :
                 {"rkn8", "gbs10", "euler", "leapfrog", "yoshida4", "srkn6", "rk4"}) {
                const bool adapts = method == std::string("rkn8") || method == std::string("gbs10");
                const std::string integrate =
                    adapts ? adaptive(method, 1.5, 1e-12) : fixed_steps(method, 1.5, 300);
                const std::string softening = fmt::format("softening = {}\n", kReferenceSoftening);
                const std::string shift = twin_shift(some_shift(of.start.size()));
                const Outcome outcome = run(system_of(of.start, kReferenceG) + softening + shift +
                                                of.potential + integrate + kGrowth,
                                            {}, level)
                                            .at(0);
                const double expected =
                    growth_by_difference(of.potential, of.start, softening + shift + integrate, level);
                EXPECT_NEAR(outcome.lyapunov_exponent * 1.5, expected, 1e-5)
                    << of.potential << of.start.size() << method << name(level);
                // The path of fixed steps is the same as without a deviation.
                if (adapts) continue;
                const Outcome path = run(system_of(of.start, kReferenceG) + softening + of.potential +
                                             integrate + "[output]\nfields = [\"final_state\"]\n",
                                         {}, level)
                                         .at(0);
                EXPECT_EQ(std::memcmp(path.final_state, outcome.final_state, sizeof path.final_state), 0)
                    << of.potential << method << name(level);
            }
        }
    }
}

// The norm of any deviation grows by sqrt(1 + h^2) in an explicit Euler step of an oscillator with w = 1.
TEST(NbodyDeviation, GrowsAsEulerStepsOfAnOscillator) {
    const std::string job = system_of({{1, {1, 0, 0}, {}}, {1, {0, 2, 0}, {0, 0, 1}}}, 0) +
                            twin_shift(some_shift(2)) + "[potential]\nkind = \"harmonic\"\nfrequency = 1\n";
    const Outcome outcome = run(job + fixed_steps("euler", 40, 4000) + kGrowth).at(0);
    const double exponent = std::log1p(1e-4) / 0.02;
    EXPECT_NEAR(outcome.lyapunov_exponent, exponent, 1e-9 * exponent);
    // Y is the exponent times the time, and its mean half of that.
    EXPECT_NEAR(outcome.megno, exponent * 20, 1e-3 * exponent * 20);
    // With exact steps no deviation grows, so MEGNO vanishes.
    const Outcome exact = run(job + adaptive("rkn8", 2000, 1e-12) + kGrowth).at(0);
    EXPECT_NEAR(exact.lyapunov_exponent, 0, 1e-3);
    EXPECT_NEAR(exact.megno, 0, 1e-2);
}

// Deviations of Kepler's ellipse grow with time, so MEGNO tends to 2 and the exponent to 0.
TEST(NbodyDeviation, MegnoOfKeplersEllipseIsTwo) {
    const double e = 0.4, speed = std::sqrt((1 + e) / (1 - e));
    const std::string job = system_of({{1, {0, 0, 0}, {}}, {0, {1 - e, 0, 0}, {0, speed, 0}}}) +
                            twin_shift({{0, 0, 0}, {1, 0.5, 0.2}});
    const double end = 2000 * std::numbers::pi;
    for (const CpuLevel level : usable_cpu_levels()) {
        for (const std::string& integrate : {adaptive("rkn8", end, 1e-12), adaptive("gbs10", end, 1e-12),
                                             fixed_steps("srkn6", end, 100000)}) {
            const Outcome outcome = run(job + integrate + kGrowth, {}, level).at(0);
            EXPECT_NEAR(outcome.megno, 2, 0.02) << integrate << name(level);
            EXPECT_LT(outcome.lyapunov_exponent, std::log(100 * end) / end);
        }
    }
}

// Three bodies on an equilateral triangle of side 1 that turns with omega = sqrt(M).
std::vector<Body> triangle(const double (&mass)[3]) {
    const double total = mass[0] + mass[1] + mass[2], height = std::sqrt(0.75);
    std::vector<Body> bodies = {
        {mass[0], {0, 0, 0}, {}}, {mass[1], {1, 0, 0}, {}}, {mass[2], {0.5, height, 0}, {}}};
    const double center[2] = {(mass[1] + 0.5 * mass[2]) / total, height * mass[2] / total};
    for (Body& body : bodies) {
        for (int c = 0; c < 2; ++c) body.x[c] -= center[c];
        body.v[0] = -std::sqrt(total) * body.x[1];
        body.v[1] = std::sqrt(total) * body.x[0];
    }
    return bodies;
}

// As tests/threebody/lyapunov_test.cpp: the theory of Gascheau (1843) and Routh (1875). With
// k = (m1 m2 + m1 m3 + m2 m3) / M^2 deviations grow as exp(s t), s^2 = omega^2 (-1 + sqrt(1 - 27 k)) / 2.
// Their norm oscillates with twice the imaginary part of s, so growth is compared over whole periods.
TEST(NbodyDeviation, HasTheExponentOfTheEquilateralTriangle) {
    const double masses[][3] = {{1, 1, 1}, {1, 2, 3}, {5, 1, 1}};
    for (const auto& mass : masses) {
        const double total = mass[0] + mass[1] + mass[2];
        const double k = (mass[0] * mass[1] + mass[0] * mass[2] + mass[1] * mass[2]) / (total * total);
        const double size = std::hypot(0.5, std::sqrt(27 * k - 1) / 2);
        const double exponent = std::sqrt(total * (size - 0.5) / 2);
        const double period = std::numbers::pi / std::sqrt(total * (size + 0.5) / 2);
        const double first = period * std::ceil(8 / exponent / period);
        const double last = first + period * std::max(1.0, std::floor((20 / exponent - first) / period));
        for (const CpuLevel level : usable_cpu_levels()) {
            for (const char* const method : {"rkn8", "gbs10", "srkn6"}) {
                const auto at = [&](double time) {
                    const std::string integrate = method == std::string("srkn6")
                                                      ? fixed_steps(method, time, 4000)
                                                      : adaptive(method, time, 1e-13);
                    return run(system_of(triangle(mass)) + twin_shift({{1, -0.2, 0}, {0, 0, 0}, {0, 0, 0}}) +
                                   integrate + kGrowth,
                               {}, level)
                        .at(0);
                };
                const double rate =
                    (at(last).lyapunov_exponent * last - at(first).lyapunov_exponent * first) /
                    (last - first);
                EXPECT_NEAR(rate, exponent, 1e-3 * exponent) << method << name(level) << mass[0];
                EXPECT_NEAR(at(last).megno, exponent * last / 2, 0.2 * exponent * last / 2);
            }
        }
    }
}

TEST(NbodyDeviation, AgreesWithRebound) {
    for (const DeviationReference& of : deviation_references()) {
        const std::string job =
            system_of(of.bodies, of.G) + twin_shift(of.shift) + adaptive("rkn8", of.time, 1e-13) + kGrowth;
        for (const CpuLevel level : usable_cpu_levels()) {
            const Outcome outcome = run(job, {}, level).at(0);
            EXPECT_NEAR(outcome.lyapunov_exponent * of.time, of.growth, of.growth_error) << of.name;
            EXPECT_NEAR(outcome.megno, of.megno, 0.005 * of.megno) << of.name;
        }
    }
}

TEST(NbodyDeviation, DoesNotDependOnItsLengthOrTheLane) {
    const std::string job = system_of({{1, {1, 0, 0}, {0, 0.5, 0}},
                                       {0.8, {-1, 0.1, 0}, {0.1, -0.5, 0}},
                                       {0.1, {0, 2, 0.3}, {-0.6, 0, 0.1}},
                                       {0, {0, -3, 0.3}, {0.6, 0, 0.1}}}) +
                            "softening = 0.1\n";
    const std::string sweep = "[[sweep]]\nparameter = \"position[3].z\"\nfrom = -1\nto = 1\ncount = 37\n";
    for (const std::string& integrate : {adaptive("rkn8", 20, 1e-9), adaptive("gbs10", 20, 1e-9),
                                         fixed_steps("leapfrog", 20, 777), fixed_steps("rk4", 20, 333)}) {
        for (const CpuLevel level : usable_cpu_levels()) {
            std::vector<std::vector<double>> shift = some_shift(4);
            const std::vector<Outcome> at =
                run(job + twin_shift(shift) + integrate + kGrowth + sweep, {}, level);
            for (std::vector<double>& of : shift)
                for (double& x : of) x *= 1024;
            const Outcome alone = run(job + twin_shift(shift) + integrate + kGrowth,
                                      {fmt::format("system.position[3].z={:.17g}", -1 + 2.0 * 5 / 37)}, level)
                                      .at(0);
            EXPECT_EQ(std::memcmp(&alone, &at[5], sizeof alone), 0) << name(level) << integrate;
        }
    }
}

TEST(NbodyDeviation, IsNotANumberWithoutTimeOrDirection) {
    const std::string job = system_of({{1, {-1, 0, 0}, {}}, {1, {1, 0, 0}, {}}}) +
                            "twin_shift = [[0, 0, 0], [0, 0, 0]]\n"
                            "[[sweep]]\nparameter = \"twin_shift[1].x\"\nfrom = 0\nto = 2\ncount = 2\n";
    for (const std::string& integrate : {adaptive("rkn8", 0.5, 1e-9), fixed_steps("rk4", 0.5, 10)}) {
        const std::vector<Outcome> at = run(job + integrate + kGrowth);
        EXPECT_TRUE(std::isnan(at[0].lyapunov_exponent) && std::isnan(at[0].megno));
        EXPECT_EQ(at[0].status, status(Status::End));
        EXPECT_TRUE(std::isfinite(at[1].lyapunov_exponent) && std::isfinite(at[1].megno));
        const Outcome met = run(job + integrate + kGrowth + "[stop]\ncollision = 3\n").at(1);
        EXPECT_EQ(met.status, status(Status::Collision));
        EXPECT_TRUE(std::isnan(met.lyapunov_exponent) && std::isnan(met.megno));
    }
}

}  // namespace
}  // namespace voltpile::nbody::testing
