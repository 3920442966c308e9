#include "rootmap/gpu_kernel.cuh"

namespace voltpile::rootmap {

void launch_fp64(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                 const Stream& stream) {
    launch_maps<double, 512>(problem, on_gpu, range, multiprocessors, stream);
}

}  // namespace voltpile::rootmap
