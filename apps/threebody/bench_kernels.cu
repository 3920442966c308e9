#include "device/launch.cuh"
#include "threebody/bench_kernels.h"
#include "threebody/parameters.h"

namespace voltpile::threebody {

namespace {

__global__ void plain_start(const Problem* problem, std::size_t points, double* state,
                            std::int32_t* steps_together) {
    const std::size_t point = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
    if (point >= points) return;
    const Parameters p = parameters_at(*problem, static_cast<std::int64_t>(point));
    for (int i = 0; i < 9; ++i) {
        const double x = p.position[i / 3][i % 3];
        const double v = p.velocity[i / 3][i % 3];
        state[i * points + point] = x;
        state[(9 + i) * points + point] = v;
        state[(18 + i) * points + point] = i < 3 ? x + p.twin_shift[i] : x;
        state[(27 + i) * points + point] = v;
    }
    steps_together[point] = -1;  // undecided
}

struct Forces {
    double G_mass[3];
    double dt;
    double limit_squared;
};

__device__ void plain_system_step(double* state, std::size_t points, std::size_t point,
                                  const Forces& forces) {
    double x[3][3];
    for (int i = 0; i < 9; ++i) x[i / 3][i % 3] = state[i * points + point];
    for (int i = 0; i < 3; ++i) {
        double a[3] = {0, 0, 0};
        for (int j = 0; j < 3; ++j) {
            if (i == j) continue;
            const double d[3] = {x[j][0] - x[i][0], x[j][1] - x[i][1], x[j][2] - x[i][2]};
            const double r2 = __fma_rn(d[0], d[0], __fma_rn(d[1], d[1], d[2] * d[2]));
            const double pull = forces.G_mass[j] / (r2 * sqrt(r2));
            for (int c = 0; c < 3; ++c) a[c] = __fma_rn(pull, d[c], a[c]);
        }
        for (int c = 0; c < 3; ++c) {
            const std::size_t at = static_cast<std::size_t>(3 * i + c) * points + point;
            const double v = state[9 * points + at];
            state[at] = __fma_rn(forces.dt, v, x[i][c]);
            state[9 * points + at] = __fma_rn(forces.dt, a[c], v);
        }
    }
}

__global__ void plain_step(std::size_t points, Forces forces, double* state, std::int32_t* steps_together,
                           std::int32_t step) {
    const std::size_t point = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
    if (point >= points || steps_together[point] >= 0) return;
    double r2 = 0;
    for (int c = 0; c < 3; ++c) {
        const double d = state[c * points + point] - state[(18 + c) * points + point];
        r2 += d * d;
    }
    if (!(r2 <= forces.limit_squared)) {
        steps_together[point] = step;
        return;
    }
    plain_system_step(state, points, point, forces);
    plain_system_step(state + 18 * points, points, point, forces);
}

LaunchShape one_thread_each(std::size_t points) {
    return {static_cast<int>((points + 255) / 256), 256, 0};
}

}  // namespace

void launch_plain_start(const Problem* problem, std::size_t points, double* state,
                        std::int32_t* steps_together, const Stream& stream) {
    launch("plain start", plain_start, one_thread_each(points), stream, problem, points, state,
           steps_together);
}

void launch_plain_step(const Problem& problem, std::size_t points, double* state,
                       std::int32_t* steps_together, std::int32_t step, const Stream& stream) {
    Forces forces;
    for (int i = 0; i < 3; ++i) forces.G_mass[i] = problem.sources.G.base * problem.sources.mass[i].base;
    forces.dt = problem.sources.dt.base;
    forces.limit_squared = problem.separation * problem.separation;
    launch("plain step", plain_step, one_thread_each(points), stream, points, forces, state, steps_together,
           step);
}

}  // namespace voltpile::threebody
