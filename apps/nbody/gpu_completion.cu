// Computes the fields of points from the records of their ends: one thread for each point. It keeps the
// bodies in arrays in memory, which it reads and writes once; a namespace of its own says so.
#define VOLTPILE_TARGET rolled
#include "nbody/gpu_kernel.h"
#include "nbody/gpu_lane.cuh"
#include "nbody/outcome_of.h"
#include "sweep/gpu_launch.cuh"
#include "sweep/gpu_outcome.cuh"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Whether the encounter of another body is the closest, or as close and earlier.
__device__ __forceinline__ bool closer(const BodyEnd& other, const PathEnd& than) {
    if (other.closest_squared != than.closest_squared) return other.closest_squared < than.closest_squared;
    if (other.closest_time != than.closest_time) return other.closest_time < than.closest_time;
    return other.closest_pair < than.closest_pair;
}

// A state has the numbers of the job's bodies only.
__device__ __forceinline__ void store_field(void* values, std::uint32_t point, int bodies,
                                            const double (&state)[6 * kMostBodies]) {
    if (values == nullptr) return;
    const int numbers = 6 * bodies;
    for (int i = 0; i < numbers; ++i)
        static_cast<double*>(values)[static_cast<std::size_t>(numbers) * point + i] = state[i];
}
template <class T>
__device__ __forceinline__ void store_field(void* values, std::uint32_t point, int, const T& value) {
    store(values, point, value);
}

__global__ void complete_outcomes(const Problem* problem, const GpuRange range) {
    const std::uint32_t point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= range.points) return;
    PointEnd* const record = end_of_point(range, problem->bodies, point);
    PathEnd end;
    end.status = static_cast<Status>(static_cast<int>(record->status));
    end.steps = static_cast<std::int32_t>(record->steps);
    end.time = record->time;
    end.escaper = record->escaper;
    end.closest_squared = __builtin_inf();
    for (int i = 0; i < problem->bodies; ++i) {
        const BodyEnd& body = ends_of_bodies(record)[i];
        for (int c = 0; c < 3; ++c) {
            end.x[3 * i + c] = body.x[c];
            end.v[3 * i + c] = body.v[c];
        }
        if (!problem->want_closest || !closer(body, end)) continue;
        end.closest_squared = body.closest_squared;
        end.closest_time = body.closest_time;
        end.closest_pair = body.closest_pair;
    }
    const Outcome outcome = compute_outcome(*problem, number_of(range, point), end);
#define VOLTPILE_STORE(member) \
    store_field(range.values[static_cast<int>(Field::member)], point, problem->bodies, outcome.member);
    VOLTPILE_NBODY_FIELDS(VOLTPILE_STORE)
#undef VOLTPILE_STORE
}

}  // namespace VOLTPILE_TARGET

void launch_completion(const Problem* on_gpu, const GpuRange& range, const Stream& stream) {
    launch("completion of outcomes", complete_outcomes, one_thread_each(range), stream, on_gpu, range);
}

}  // namespace voltpile::nbody
