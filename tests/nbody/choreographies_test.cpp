// Choreographies: equal bodies that follow one another along one curve. The starts are those of C. Simo (New
// families of solutions in N-body problems, Proceedings of the third European Congress of Mathematics,
// Barcelona 2000), with the digits that W. Christian's program PlanarNBodyApp (Open Source Physics, 2007)
// gives them. All masses, G and the period divided by 2 pi are 1.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "nbody/run_job.h"

namespace voltpile::nbody::testing {
namespace {

struct Choreography {
    const char* name;
    std::vector<Body> bodies;
    double tolerance;  // of what a small error grows to within the period
};

Body body(double x, double y, double vx, double vy) {
    return {1, {x, y, 0}, {vx, vy, 0}};
}

std::vector<Choreography> choreographies() {
    return {
        {"Gerver's super-eight",
         {body(1.382856843618421, 0, 0, 0.5848726308148733),
          body(0, -0.1570299222812179, -1.871935245878676, 0),
          body(-1.382856843618421, 0, 0, -0.5848726308148733),
          body(0, 0.1570299222812179, 1.871935245878676, 0)},
         1e-8},
        {"four on a chain of loops",
         {body(1.308472291674295, 0, 0, 0.4119449647358835),
          body(-0.05339857721898453, -0.4755600203079249, -1.090116404238875, -0.6493199205040803),
          body(-1.201675137236327, 0, 0, 0.8866948762722759),
          body(-0.05339857721898299, 0.4755600203079242, 1.090116404238874, -0.6493199205040792)},
         1e-9},
        {"four with inner loops",
         {body(1.002314883462055, 0, 0, -0.2937902777320299),
          body(-0.5286940940236307, 0.5671259540672383, -0.1758266190939168, 1.023613101650529),
          body(0.05507330458520999, 0, 0, -1.753435925569013),
          body(-0.528694094023634, -0.5671259540672356, 0.1758266190939156, 1.023613101650515)},
         1e-7},
        {"five on a chain of four",
         {body(1.657666012549268, 0, 0, 0.593785277963254),
          body(0.4397750504262926, -0.1697168623196236, -1.822785487627255, -0.12824800560005),
          body(-1.268608056700923, -0.267650773258184, -1.2715639365749, -0.1686446333815992),
          body(-1.268608056700929, 0.2676507732581855, 1.271563936574898, -0.1686446333815816),
          body(0.4397750504262912, 0.1697168623196222, 1.822785487627257, -0.128248005600023)},
         1e-7},
    };
}

// How far bodies are at time t from where `shift` places further in the list they began.
double distance_from_starts(const Choreography& of, const std::string& method, double t, std::size_t shift) {
    const Outcome outcome = run(system_of(of.bodies) + adaptive(method, t, 1e-13) + every_field()).at(0);
    EXPECT_EQ(outcome.status, status(Status::End)) << of.name;
    EXPECT_LT(outcome.energy_error, 1e-11) << of.name;
    double largest = 0;
    for (std::size_t i = 0; i < of.bodies.size(); ++i) {
        const Body& start = of.bodies[(i + shift) % of.bodies.size()];
        const double* const state = position_of(outcome, static_cast<int>(i));
        for (int c = 0; c < 3; ++c)
            largest =
                std::max({largest, std::abs(state[c] - start.x[c]), std::abs(state[3 + c] - start.v[c])});
    }
    return largest;
}

TEST(NbodyChoreographies, BodiesTakeThePlaceOfTheNextOneAndReturn) {
    constexpr double period = 2 * std::numbers::pi;
    for (const Choreography& each : choreographies()) {
        for (const char* const method : {"rkn8", "gbs10"}) {
            const double part = period / static_cast<double>(each.bodies.size());
            EXPECT_LT(distance_from_starts(each, method, part, 1), 1e-10) << each.name << method;
            EXPECT_LT(distance_from_starts(each, method, period, 0), each.tolerance) << each.name << method;
        }
    }
}

}  // namespace
}  // namespace voltpile::nbody::testing
