#include "threebody/gpu_kernel.cuh"
#include "threebody/integrators/euler.h"

namespace voltpile::threebody {

void launch_euler(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream) {
    launch_kernel<Euler>("three-body kernel (euler)", problem, on_gpu, range, multiprocessors, stream);
}

}  // namespace voltpile::threebody
