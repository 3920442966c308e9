// Chooses the code for a problem. Compiled once for each level of instruction sets (voltpile_cpu_kernels).
// Nothing else belongs in this file: see base/simd.h.
#include "rootmap/attractor_maps.h"
#include "rootmap/cpu_targets.h"
#include "rootmap/escape_maps.h"
#include "rootmap/map_lanes.h"
#include "rootmap/perturbed_sweep.h"
#include "rootmap/root_maps.h"
#include "sweep/cpu_lanes.h"

namespace voltpile::rootmap {
namespace {

template <class Map, class Real>
__attribute__((noinline)) void sweep_lanes(const Problem& problem, PointStream& stream) {
    MapLanes<Map, Real> lanes(problem);
    run_lanes(lanes, stream);
}

template <class Real>
void sweep_in(const Problem& problem, PointStream& stream) {
    switch (problem.method) {
        case Method::Newton:
            return sweep_lanes<RootMap<NewtonStep>, Real>(problem, stream);
        case Method::Halley:
            return sweep_lanes<RootMap<HalleyStep>, Real>(problem, stream);
        case Method::Schroeder:
            return sweep_lanes<RootMap<SchroederStep>, Real>(problem, stream);
        case Method::Secant:
            return sweep_lanes<RootMap<SecantStep>, Real>(problem, stream);
        case Method::Mandelbrot:
            if (problem.want_distance)
                return sweep_lanes<EscapeMap<Quadratic<Follow::ByConstant>>, Real>(problem, stream);
            return sweep_lanes<EscapeMap<Quadratic<Follow::Nothing>>, Real>(problem, stream);
        case Method::Julia:
            if (problem.want_distance)
                return sweep_lanes<EscapeMap<Quadratic<Follow::ByStart>>, Real>(problem, stream);
            return sweep_lanes<EscapeMap<Quadratic<Follow::Nothing>>, Real>(problem, stream);
        case Method::BurningShip:
            return sweep_lanes<EscapeMap<BurningShip>, Real>(problem, stream);
        case Method::Henon:
            return sweep_lanes<EscapeMap<Henon>, Real>(problem, stream);
        case Method::Clifford:
            if constexpr (std::is_same_v<Real, Simd<double>>)
                return sweep_lanes<AttractorMap<Clifford>, Real>(problem, stream);
            break;
        case Method::DeJong:
            if constexpr (std::is_same_v<Real, Simd<double>>)
                return sweep_lanes<AttractorMap<DeJong>, Real>(problem, stream);
            break;
    }
}

void sweep(const Problem& problem, PointStream& stream) {
    switch (problem.precision) {
        case Precision::Fp64:
            return sweep_in<Simd<double>>(problem, stream);
        case Precision::Fp32:
            return sweep_in<Simd<float>>(problem, stream);
        case Precision::DoubleDouble:
            return sweep_in<DoubleDouble<Simd<double>>>(problem, stream);
        case Precision::Perturbation:
            return sweep_perturbed(problem, stream);
    }
}

}  // namespace

template <>
CpuSweep compiled_cpu_sweep<simd_level>() {
    return sweep;
}

}  // namespace voltpile::rootmap
