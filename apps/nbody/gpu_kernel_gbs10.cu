#include "nbody/gpu_adaptive.cuh"
#include "nbody/gpu_kernel.cuh"
#include "nbody/gpu_whole_lane.cuh"

namespace voltpile::nbody {

void launch_gbs10(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream) {
    // A start of a whole point stalls its warp; where paths are watched, whole points were not faster.
    const auto launch =
        watches(problem)      ? launch_points<AdaptiveLane<ExtrapolatedStep, BodyLane<true>>, 384>
        : problem.bodies == 2 ? launch_points<AdaptiveLane<ExtrapolatedStep, WholeLane<2, false>>, 256>
        : problem.bodies == 3 ? launch_points<AdaptiveLane<ExtrapolatedStep, WholeLane<3, false>>, 256>
                              : launch_points<AdaptiveLane<ExtrapolatedStep, BodyLane<false>>, 384>;
    launch(problem, on_gpu, body_common(problem), range, multiprocessors, stream);
}

}  // namespace voltpile::nbody
