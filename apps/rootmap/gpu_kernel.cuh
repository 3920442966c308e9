// Launches the kernels of one number type.
#pragma once

#include "rootmap/attractor_maps.h"
#include "rootmap/escape_maps.h"
#include "rootmap/gpu_kernel.h"
#include "rootmap/gpu_lane.cuh"
#include "rootmap/methods.h"
#include "rootmap/root_maps.h"
#include "sweep/gpu_launch.cuh"
#include "sweep/gpu_outcome.cuh"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

template <class Real>
__global__ void start_points(const Problem* problem, const GpuRange range) {
    const std::uint32_t point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= range.points) return;
    using Number = typename PointNumber<Real>::type;
    State<Number> state;
    MapConstants<Number> constants;
    begin_point(*problem, parameters_in<Number>(*problem, number_of(range, point)), state, constants);
    MapStart<Real>& start = reinterpret_cast<MapPoint<Real>*>(range.raw)[point].start;
    start.z[0] = static_cast<Real>(state.z.x);
    start.z[1] = static_cast<Real>(state.z.y);
    start.other[0] = static_cast<Real>(state.other.x);
    start.other[1] = static_cast<Real>(state.other.y);
    for (int i = 0; i < constant_numbers; ++i) start.constants[i] = static_cast<Real>(constants.value[i]);
}

template <class Real>
__global__ void complete_outcomes(const Problem* problem, const GpuRange range) {
    const std::uint32_t point = blockIdx.x * blockDim.x + threadIdx.x;
    std::int32_t iterations = 0;
    if (point < range.points) {
        const MapEnd& end = reinterpret_cast<const MapPoint<Real>*>(range.raw)[point].end;
        State<double> s = {};
        s.z = {end.z[0], end.z[1]};
        s.other = {end.other[0], end.other[1]};
        s.aid.x = end.aid;
        s.measure = end.measure;
        iterations = end.iterations;
        Outcome outcome;
        set_outcome(*problem, s, iterations, end.undecided, outcome);
#define VOLTPILE_STORE(member) store(range.values[static_cast<int>(Field::member)], point, outcome.member);
        VOLTPILE_ROOTMAP_FIELDS(VOLTPILE_STORE)
#undef VOLTPILE_STORE
    }
    auto units = static_cast<unsigned long long>(iterations);
    for (int distance = 16; distance > 0; distance /= 2) units += __shfl_xor_sync(full_warp, units, distance);
    if (threadIdx.x % 32 == 0) atomicAdd(&range.counters->units, units);
}

template <class Path, int threads>
void launch_paths(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream) {
    using Real = typename Path::Number;
    static_assert(sizeof(MapPoint<Real>) <=
                  (sizeof(Real) == 16 ? bytes_of_double_double_point : bytes_of_point));
    MapCommon<Real> common = {};
    common.polynomial.degree = problem.polynomial.degree;
    for (int i = 0; i <= problem.polynomial.degree; ++i) {
        common.polynomial.re[i] =
            static_cast<std::remove_reference_t<decltype(common.polynomial.re[i])>>(problem.polynomial.re[i]);
        common.polynomial.im[i] =
            static_cast<std::remove_reference_t<decltype(common.polynomial.im[i])>>(problem.polynomial.im[i]);
    }
    common.largest_measure = Real(problem.largest_measure);
    common.least = Real(Path::escapes ? 0.0 : problem.tolerance * problem.tolerance);
    common.most =
        Real(Path::escapes ? problem.escape_radius * problem.escape_radius : problem.largest_measure);
    common.max_iterations = problem.max_iterations;
    common.orbit = problem.orbit;
    common.orbit_steps = problem.orbit_steps;
    common.want_distance = problem.want_distance;
    launch("starts of points", start_points<Real>, one_thread_each(range), stream, on_gpu, range);
    launch_lanes<MapLane<Path>, threads>(info(problem.method).name, on_gpu, common, range, multiprocessors,
                                         stream);
    launch("completion of outcomes", complete_outcomes<Real>, one_thread_each(range), stream, on_gpu, range);
}

template <class Real, int threads>
void launch_maps(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                 const Stream& stream) {
    const auto launch = [&]<class Map>(Map) {
        launch_paths<MapPath<Map, Real>, threads>(problem, on_gpu, range, multiprocessors, stream);
    };
    switch (problem.method) {
        case Method::Newton:
            return launch(RootMap<NewtonStep>());
        case Method::Halley:
            return launch(RootMap<HalleyStep>());
        case Method::Schroeder:
            return launch(RootMap<SchroederStep>());
        case Method::Secant:
            return launch(RootMap<SecantStep>());
        case Method::Mandelbrot:
            if (problem.want_distance) return launch(EscapeMap<Quadratic<Follow::ByConstant>>());
            return launch(EscapeMap<Quadratic<Follow::Nothing>>());
        case Method::Julia:
            if (problem.want_distance) return launch(EscapeMap<Quadratic<Follow::ByStart>>());
            return launch(EscapeMap<Quadratic<Follow::Nothing>>());
        case Method::BurningShip:
            return launch(EscapeMap<BurningShip>());
        case Method::Henon:
            return launch(EscapeMap<Henon>());
        case Method::Clifford:
            if constexpr (std::is_same_v<Real, double>) return launch(AttractorMap<Clifford>());
            break;
        case Method::DeJong:
            if constexpr (std::is_same_v<Real, double>) return launch(AttractorMap<DeJong>());
            break;
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
