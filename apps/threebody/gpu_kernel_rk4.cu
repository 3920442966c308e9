#include "threebody/gpu_kernel.cuh"
#include "threebody/integrators/rk4.h"

namespace voltpile::threebody {

void launch_rk4(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                const Stream& stream) {
    launch_kernel<RungeKutta4>("three-body kernel (rk4)", problem, on_gpu, range, multiprocessors, stream);
}

}  // namespace voltpile::threebody
