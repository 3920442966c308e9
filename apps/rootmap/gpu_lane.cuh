// Maps on a GPU: one point in each lane (sweep/gpu_lanes.cuh).
#pragma once

#include <cstdint>
#include <type_traits>

#include "rootmap/perturbed_mandelbrot.h"
#include "rootmap/point.h"
#include "sweep/gpu_lanes.cuh"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// What is in GpuRange::raw of a point before a lane takes it, and after.
template <class Real>
struct MapStart {
    Real z[2], other[2], constants[4];
};
struct MapEnd {
    double z[2], other[2];
    double aid, measure;
    std::int32_t iterations;
    bool undecided;
};
template <class Real>
union MapPoint {
    MapStart<Real> start;
    MapEnd end;
};

// What lanes need to know of the problem. Kernels read it through the constant cache.
template <class Real>
struct MapCommon {
    PolynomialIn<std::conditional_t<sizeof(Real) == 4, float, double>> polynomial;
    Real largest_measure;
    Real least, most;  // a point is undecided while its measure is between them
    std::int32_t max_iterations;
    const double* orbit;  // as in Problem, in GPU memory
    std::int32_t orbit_steps;
    bool want_distance;
};

// A path is the state of a point: of a map in a number type, or of a perturbed Mandelbrot set.
template <class Map, class Real>
struct MapPath {
    using Number = Real;
    static constexpr bool escapes = Map::escapes;

    State<Real> s = {};
    MapConstants<Real> constants = {};

    __device__ __forceinline__ void begin(const MapCommon<Real>& common, const MapStart<Real>& start) {
        s = {};
        s.z = {start.z[0], start.z[1]};
        s.other = {start.other[0], start.other[1]};
        VOLTPILE_UNROLL
        for (int i = 0; i < constant_numbers; ++i) constants.value[i] = start.constants[i];
        Map::start(common, s);
    }
    __device__ __forceinline__ void step(const MapCommon<Real>& common) { Map::step(common, constants, s); }
    __device__ __forceinline__ const State<Real>& state() const { return s; }

    template <class Move>
    __device__ __forceinline__ void move(const Move& move) {
        auto* const numbers = reinterpret_cast<Real*>(&s);
        move.template numbers<4>(numbers);
        move.template numbers<state_numbers - 4>(numbers + 4);
        move.template numbers<constant_numbers>(constants.value);
    }
};

struct PerturbedPath {
    using Number = double;
    static constexpr bool escapes = true;

    PerturbedPoint point;
    Complex<double> offset = {0, 0};

    __device__ __forceinline__ void begin(const MapCommon<double>&, const MapStart<double>& start) {
        point = PerturbedPoint();
        offset = {start.constants[0], start.constants[1]};
    }
    __device__ __forceinline__ void step(const MapCommon<double>& common) {
        step_perturbed(common, offset, point);
    }
    __device__ __forceinline__ const State<double>& state() const { return point.s; }

    template <class Move>
    __device__ __forceinline__ void move(const Move& move) {
        auto* const numbers = reinterpret_cast<double*>(&point.s);
        move.template numbers<4>(numbers);
        move.template numbers<state_numbers - 4>(numbers + 4);
        move.template numbers<2>(&point.difference.x);
        move.template numbers<2>(&point.reference.x);
        move.template numbers<2>(&offset.x);
        move.template integers<1>(&point.place);
    }
};

template <class Path>
struct MapLane {
    using Problem = rootmap::Problem;
    using Number = typename Path::Number;
    using Common = MapCommon<Number>;
    template <int threads>
    struct Shared {};
    static constexpr int numbers_at_once = 4;
    static constexpr bool counts_steps = false;
    static constexpr unsigned steps_between_packings = 32;

    // A step of the lanes is up to this many iterations; it ends where so many lanes of a warp wait for new
    // points. A vote costs about as much as an iteration of z^2 + c.
    static constexpr int most_iterations = 64;
    static constexpr int iterations_between_votes = Path::escapes ? 8 : 1;
    static constexpr int most_waiting = 8;

    Path path;
    std::uint32_t point = no_point;
    std::int32_t done = 0;  // iterations
    bool undecided = true;  // its measure is between the limits
    bool asks = false;      // for a first point

    __device__ __forceinline__ explicit MapLane(const Common&) {}

    __device__ __forceinline__ void idle() {
        point = no_point;
        asks = false;
    }
    __device__ __forceinline__ void request() { asks = true; }

    template <int threads>
    __device__ __forceinline__ void begin(bool mine, const Problem*, const Common& common,
                                          const GpuRange& range, Shared<threads>&) {
        if (!mine) return;
        done = 0;
        path.begin(common, in(range).start);
    }

    template <int threads>
    __device__ __forceinline__ bool decided(const Common& common, const Shared<threads>&) {
        return asks | ((point != no_point) & !goes_on(common));
    }

    template <int threads>
    __device__ __forceinline__ void finish(const GpuRange& range, const Shared<threads>&) {
        const State<Number>& s = path.state();
        MapEnd& end = in(range).end;
        end.z[0] = static_cast<double>(s.z.x);
        end.z[1] = static_cast<double>(s.z.y);
        end.other[0] = static_cast<double>(s.other.x);
        end.other[1] = static_cast<double>(s.other.y);
        end.aid = static_cast<double>(s.aid.x);
        end.measure = static_cast<double>(s.measure);
        end.iterations = done;
        end.undecided = undecided;
    }

    template <int threads>
    __device__ __forceinline__ void step(const Common& common, const Shared<threads>&) {
        bool goes = (point != no_point) & goes_on(common);
        for (int k = 0; k < most_iterations; k += iterations_between_votes) {
            VOLTPILE_UNROLL
            for (int i = 0; i < iterations_between_votes; ++i) {
                if (!goes) continue;
                path.step(common);
                ++done;
                goes = goes_on(common);
            }
            const unsigned waiting = __ballot_sync(full_warp, (point != no_point) & !goes);
            if (__popc(waiting) >= most_waiting) return;
        }
    }

    template <class Move, int threads>
    __device__ __forceinline__ void move(const Move& move, Shared<threads>&) {
        path.move(move);
        int integers[2] = {static_cast<int>(point), done};
        move.template integers<2>(integers);
        point = static_cast<std::uint32_t>(integers[0]);
        done = integers[1];
    }

  private:
    __device__ __forceinline__ MapPoint<Number>& in(const GpuRange& range) const {
        return reinterpret_cast<MapPoint<Number>*>(range.raw)[point];
    }
    __device__ __forceinline__ bool goes_on(const Common& common) {
        const Number measure = path.state().measure;
        undecided = measure <= common.most;
        if constexpr (!Path::escapes) undecided = undecided & (common.least <= measure);
        return undecided & (done < common.max_iterations);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
