#include "threebody/gpu_kernel.cuh"
#include "threebody/integrators/leapfrog.h"

namespace voltpile::threebody {

void launch_leapfrog(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                     int multiprocessors, const Stream& stream) {
    launch_kernel<Leapfrog>("three-body kernel (leapfrog)", problem, on_gpu, range, multiprocessors, stream);
}

}  // namespace voltpile::threebody
