// A body in a lane of a GPU (sweep/gpu_lanes.cuh), and the record of a point's end.
#pragma once

#include "nbody/gpu_kernel.h"
#include "nbody/gpu_watch.cuh"
#include "sweep/gpu_lanes.cuh"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// What is in GpuRange::raw of a point when it is decided, besides a BodyEnd for each body.
struct PointEnd {
    double status, steps, time, escaper;
};
struct BodyEnd {
    double x[3], v[3];
    double closest_squared, closest_time, closest_pair;  // of the pairs that its lane watched
};
static_assert(sizeof(PointEnd) == bytes_of_point_end && sizeof(BodyEnd) == bytes_of_body_end);

// bodies: of a point. place: in the range.
VOLTPILE_HD PointEnd* end_of_point(const GpuRange& range, int bodies, std::uint32_t place) {
    return reinterpret_cast<PointEnd*>(range.raw + place * raw_bytes_per_point(bodies));
}
VOLTPILE_HD BodyEnd* ends_of_bodies(PointEnd* point) {
    return reinterpret_cast<BodyEnd*>(point + 1);
}

// Stores what is not of one body.
__device__ __forceinline__ void finish_point(const GpuRange& range, const PointEnd& end, PointEnd* where) {
    *where = end;
    atomicAdd(&range.counters->units, static_cast<unsigned long long>(end.steps));
}

// What lanes need to know of the problem.
struct BodyCommon {
    int bodies;
    Potential potential;
    PathDemands demands;
    double escape_distance2;
};

inline BodyCommon body_common(const Problem& problem) {
    return {problem.bodies, problem.potential, path_demands(problem),
            problem.escape_distance * problem.escape_distance};
}

// What no step needs, or only some jobs do, lies in shared memory.
template <int threads, bool watched>
struct BodyShared {
    Center<double> center[threads];
    BodyWatch watch[watched ? threads : 1];
};

// What lanes do that share a point, one body in each: the base of those for one kind of method. WholeLane has
// the same members.
template <bool watched_>
struct BodyLane {
    static constexpr bool watched = watched_;
    static constexpr int in_lane = 1;  // bodies
    template <int threads>
    using Shared = BodyShared<threads, watched>;

    BodyGroup group;
    Gravity<double> gravity;
    double mass;
    double masses[BodyForces::most_ahead];
    std::uint32_t point = no_point;
    bool asks = false;  // for a first point

    __device__ __forceinline__ explicit BodyLane(const BodyCommon& common)
        : group(common.bodies), gravity(), mass(0), masses() {}

    __device__ __forceinline__ void idle() {
        point = no_point;
        asks = false;
    }
    __device__ __forceinline__ void request() { asks = true; }

    static VOLTPILE_HD int lanes_per_point(const BodyCommon& common) { return common.bodies; }

    // Whether it holds in any lane of the point. All lanes of the warp call it.
    __device__ __forceinline__ bool any(bool holds) const { return group.any(holds); }

    template <class Space>
    __device__ __forceinline__ BodyForces forces(const BodyCommon& common, const Space& shared) const {
        return {group, gravity, mass, masses, common.potential, shared.center[threadIdx.x]};
    }

    // Starts the lanes with `mine`: sets the motion, with accelerations, and the members. All lanes of the
    // warp call it. Returns whether the forces of the lane's point are finite.
    template <class Space>
    __device__ __forceinline__ bool begin_bodies(bool mine, std::int64_t number, const Problem* problem,
                                                 const BodyCommon& common, Space& shared,
                                                 Motion<double, 1>& motion) {
        if (mine) {
            set_forces(force_numbers(*problem, number), gravity, shared.center[threadIdx.x],
                       [](double& where, double value) { where = value; });
            mass = number_at(*problem, kFirstMass + group.body, number);
            for (int c = 0; c < 3; ++c) {
                motion.x[c] = number_at(*problem, kFirstPosition + 3 * group.body + c, number);
                motion.v[c] = number_at(*problem, kFirstVelocity + 3 * group.body + c, number);
            }
        }
        VOLTPILE_UNROLL
        for (int ahead = 1; ahead <= BodyForces::most_ahead; ++ahead) {
            const double other = 2 * ahead > group.bodies ? 0.0 : group.of(group.after(ahead), mass);
            if (mine) masses[ahead - 1] = other;
        }
        const BodyForces now = forces(common, shared);
        double a[3];
        accelerations(motion.x, now, a);
        if (mine) {
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) motion.a[c] = a[c];
        }
        if constexpr (watched)
            begin_watch(mine, number, problem, common, now, motion, shared.watch[threadIdx.x]);
        const double sum = sum_of_coordinates(motion) + (a[0] + a[1] + a[2]);
        return !group.any(!(sum - sum <= 0));
    }

    template <class Move, class Space>
    __device__ __forceinline__ void move_bodies(const Move& move, Space& shared, Motion<double, 1>& motion) {
        move.template numbers<3>(gravity.terms);
        double some[3] = {gravity.softening2, mass, masses[0]};
        move.template numbers<3>(some);
        gravity.softening2 = some[0], mass = some[1], masses[0] = some[2];
        move.template numbers<3>(masses + 1);
        if constexpr (watched) {
            BodyWatch& watch = shared.watch[threadIdx.x];
            move.template numbers<3>(&watch.closest.squared_distance);
            move.template numbers<2>(&watch.escape.share);
        }
        Center<double>& center = shared.center[threadIdx.x];
        move.template numbers<3>(center.terms);
        move.template numbers<2>(&center.scale2);
        move.template numbers<3>(motion.x);
        move.template numbers<3>(motion.v);
        move.template numbers<3>(motion.a);
    }

    template <class Space>
    __device__ __forceinline__ GroupWatch watch(const BodyForces& now, const BodyCommon& common,
                                                Space& shared) const {
        return {shared.watch[threadIdx.x], now, common.escape_distance2};
    }

    // Whether bodies of the lane's point have come as close as a collision. All lanes of the warp call it.
    template <class Space>
    __device__ __forceinline__ bool collided(const BodyCommon& common, const Space& shared) const {
        const double limit = common.demands.collision2;
        return limit > 0 && any(shared.watch[threadIdx.x].closest.squared_distance <= limit);
    }

    // time_unit: of the time of encounters.
    template <class Space>
    __device__ __forceinline__ void finish_bodies(const GpuRange& range, const PointEnd& point_end,
                                                  double time_unit, const Motion<double, 1>& motion,
                                                  const Space& shared) const {
        PointEnd* const end = end_of_point(range, group.bodies, point);
        BodyEnd& here = ends_of_bodies(end)[group.body];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) here.x[c] = motion.x[c], here.v[c] = motion.v[c];
        if constexpr (watched) {
            const Encounter<double>& closest = shared.watch[threadIdx.x].closest;
            here.closest_squared = closest.squared_distance;
            here.closest_time = time_unit * closest.time;
            here.closest_pair = closest.pair;
        }
        if (group.body == 0) finish_point(range, point_end, end);
    }

  private:
    // Begins to watch the lanes with `mine`.
    __device__ __forceinline__ void begin_watch(bool mine, std::int64_t number, const Problem* problem,
                                                const BodyCommon& common, const BodyForces& now,
                                                const Motion<double, 1>& motion, BodyWatch& watch) const {
        BodyWatch fresh = {no_encounter<double>(), {0, 0}};
        GroupWatch{fresh, now, common.escape_distance2}.note_distances(motion, 0);
        if (common.demands.escapes) {
            double others = 0;
            for (int i = 0; i < group.bodies; ++i) {
                const double other = group.of(i, mass);
                if (i != group.body) others += other;
            }
            if (mine) fresh.escape = escape_numbers(*problem, number, mass, others);
        }
        if (mine) watch = fresh;
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
