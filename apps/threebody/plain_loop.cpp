#include "threebody/plain_loop.h"

#include <cmath>

namespace voltpile::threebody {

namespace {

inline void step(PlainSystem& s, double G, const double (&mass)[3], double dt) {
    double a[3][3] = {};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            if (i == j) continue;
            const double dx = s.x[j][0] - s.x[i][0];
            const double dy = s.x[j][1] - s.x[i][1];
            const double dz = s.x[j][2] - s.x[i][2];
            const double r2 = dx * dx + dy * dy + dz * dz;
            const double pull = G * mass[j] / (r2 * std::sqrt(r2));
            a[i][0] += pull * dx;
            a[i][1] += pull * dy;
            a[i][2] += pull * dz;
        }
    }
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) {
            s.x[i][c] += dt * s.v[i][c];
            s.v[i][c] += dt * a[i][c];
        }
    }
}

}  // namespace

std::int64_t plain_steps_together(PlainSystem first, PlainSystem twin, double G, const double (&mass)[3],
                                  double dt, std::int64_t steps, double separation) {
    for (std::int64_t s = 0; s < steps; ++s) {
        const double dx = first.x[0][0] - twin.x[0][0];
        const double dy = first.x[0][1] - twin.x[0][1];
        const double dz = first.x[0][2] - twin.x[0][2];
        if (!(dx * dx + dy * dy + dz * dz <= separation * separation)) return s;
        step(first, G, mass, dt);
        step(twin, G, mass, dt);
    }
    return steps;
}

}  // namespace voltpile::threebody
