// All bodies of a point in one lane of a GPU, for as few as fit into its registers.
#pragma once

#include "nbody/gpu_lane.cuh"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// The members of Forces.
template <int bodies>
struct WholeForces {
    const Gravity<double>& gravity;
    const double (&mass)[bodies];
    Potential potential;
    const Center<double>& center;

    VOLTPILE_HD double total(double x) const { return x; }
};

template <int bodies>
VOLTPILE_HD void accelerations(const double (&x)[3 * bodies], const WholeForces<bodies>& forces,
                               double (&a)[3 * bodies]) {
    add_up_forces(x, forces, a);
}

template <int bodies>
struct PointWatch {
    Encounter<double> closest;
    EscapeTerms<double, bodies> escape;
};

template <int bodies, int threads, bool watched>
struct WholeShared {
    Center<double> center[threads];
    PointWatch<bodies> watch[watched ? threads : 1];
};

// As BodyLane.
template <int bodies, bool watched_>
struct WholeLane {
    static constexpr bool watched = watched_;
    static constexpr int in_lane = bodies;
    template <int threads>
    using Shared = WholeShared<bodies, threads, watched>;

    Gravity<double> gravity = {};
    double mass[bodies] = {};
    std::uint32_t point = no_point;
    bool asks = false;  // for a first point

    __device__ __forceinline__ explicit WholeLane(const BodyCommon&) {}

    __device__ __forceinline__ void idle() {
        point = no_point;
        asks = false;
    }
    __device__ __forceinline__ void request() { asks = true; }

    static VOLTPILE_HD int lanes_per_point(const BodyCommon&) { return 1; }

    __device__ __forceinline__ bool any(bool holds) const { return holds; }

    template <class Space>
    __device__ __forceinline__ WholeForces<bodies> forces(const BodyCommon& common,
                                                          const Space& shared) const {
        return {gravity, mass, common.potential, shared.center[threadIdx.x]};
    }

    template <class Space>
    __device__ __forceinline__ bool begin_bodies(bool mine, std::int64_t number, const Problem* problem,
                                                 const BodyCommon& common, Space& shared,
                                                 Motion<double, bodies>& motion) {
        if (!mine) return true;
        set_forces(force_numbers(*problem, number), gravity, shared.center[threadIdx.x],
                   [](double& where, double value) { where = value; });
        VOLTPILE_UNROLL
        for (int i = 0; i < bodies; ++i) mass[i] = number_at(*problem, kFirstMass + i, number);
        VOLTPILE_UNROLL
        for (int c = 0; c < 3 * bodies; ++c) {
            motion.x[c] = number_at(*problem, kFirstPosition + c, number);
            motion.v[c] = number_at(*problem, kFirstVelocity + c, number);
        }
        accelerations(motion.x, forces(common, shared), motion.a);
        double sum = sum_of_coordinates(motion);
        VOLTPILE_UNROLL
        for (int c = 0; c < 3 * bodies; ++c) sum = sum + motion.a[c];
        if constexpr (watched) {
            PointWatch<bodies>& mine_too = shared.watch[threadIdx.x];
            mine_too.closest = no_encounter<double>();
            note_distances<double, bodies>(mine_too.closest, motion.x, 0.0);
            if (common.demands.escapes)
                set_escape_terms(*problem, number, mine_too.escape,
                                 [](double& where, double value) { where = value; });
        }
        return sum - sum <= 0;
    }

    template <class Space>
    __device__ __forceinline__ auto watch(const WholeForces<bodies>& now, const BodyCommon&,
                                          Space& shared) const {
        PointWatch<bodies>& mine = shared.watch[threadIdx.x];
        return WholeWatch<double, bodies, WholeForces<bodies>>{mine.closest, now, mine.escape};
    }

    template <class Space>
    __device__ __forceinline__ bool collided(const BodyCommon& common, const Space& shared) const {
        const double limit = common.demands.collision2;
        return limit > 0 && shared.watch[threadIdx.x].closest.squared_distance <= limit;
    }

    template <class Move, class Space>
    __device__ __forceinline__ void move_bodies(const Move& move, Space& shared,
                                                Motion<double, bodies>& motion) {
        move.template numbers<3>(gravity.terms);
        move.template numbers<1>(&gravity.softening2);
        move.template numbers<bodies>(mass);
        Center<double>& center = shared.center[threadIdx.x];
        move.template numbers<3>(center.terms);
        move.template numbers<2>(&center.scale2);
        if constexpr (watched) {
            PointWatch<bodies>& watch = shared.watch[threadIdx.x];
            move.template numbers<3>(&watch.closest.squared_distance);
            move.template numbers<bodies>(watch.escape.share);
            move.template numbers<bodies>(watch.escape.speed2);
            move.template numbers<1>(&watch.escape.distance2);
        }
        VOLTPILE_UNROLL
        for (int c = 0; c < 3 * bodies; c += 3) {
            move.template numbers<3>(motion.x + c);
            move.template numbers<3>(motion.v + c);
            move.template numbers<3>(motion.a + c);
        }
    }

    template <class Space>
    __device__ __forceinline__ void finish_bodies(const GpuRange& range, const PointEnd& point_end,
                                                  double time_unit, const Motion<double, bodies>& motion,
                                                  const Space& shared) const {
        PointEnd* const end = end_of_point(range, bodies, point);
        VOLTPILE_UNROLL
        for (int i = 0; i < bodies; ++i) {
            BodyEnd& body = ends_of_bodies(end)[i];
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) body.x[c] = motion.x[3 * i + c], body.v[c] = motion.v[3 * i + c];
            if constexpr (watched) {
                const Encounter<double>& closest = shared.watch[threadIdx.x].closest;
                body.closest_squared = closest.squared_distance;
                body.closest_time = time_unit * closest.time;
                body.closest_pair = closest.pair;
            }
        }
        finish_point(range, point_end, end);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
