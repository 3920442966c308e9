#include "rootmap/gpu_kernel.cuh"

namespace voltpile::rootmap {

void launch_fp32(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                 const Stream& stream) {
    launch_maps<float, 1024>(problem, on_gpu, range, multiprocessors, stream);
}

}  // namespace voltpile::rootmap
