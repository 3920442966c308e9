#include "rootmap/gpu_kernel.cuh"
#include "sweep/double_double.h"

namespace voltpile::rootmap {

void launch_double_double(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                          int multiprocessors, const Stream& stream) {
    launch_maps<DoubleDouble<double>, 256>(problem, on_gpu, range, multiprocessors, stream);
}

}  // namespace voltpile::rootmap
