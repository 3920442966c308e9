#include "nbody/gpu_fixed_steps.cuh"
#include "nbody/gpu_kernel.cuh"
#include "nbody/gpu_whole_lane.cuh"

namespace voltpile::nbody {

void launch_fixed_steps(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                        int multiprocessors, const Stream& stream) {
    const FixedStepCommon common = {body_common(problem), problem.method, Composition(problem.method)};
    const bool watched = watches(problem);
    const auto launch =
        problem.bodies == 2   ? (watched ? launch_points<FixedStepLane<WholeLane<2, true>>, 256>
                                         : launch_points<FixedStepLane<WholeLane<2, false>>, 384>)
        : problem.bodies == 3 ? (watched ? launch_points<FixedStepLane<WholeLane<3, true>>, 256>
                                         : launch_points<FixedStepLane<WholeLane<3, false>>, 256>)
                              : (watched ? launch_points<FixedStepLane<BodyLane<true>>, 384>
                                         : launch_points<FixedStepLane<BodyLane<false>>, 512>);
    launch(problem, on_gpu, common, range, multiprocessors, stream);
}

}  // namespace voltpile::nbody
