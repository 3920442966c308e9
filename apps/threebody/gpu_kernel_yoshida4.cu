#include "threebody/gpu_kernel.cuh"
#include "threebody/integrators/yoshida4.h"

namespace voltpile::threebody {

void launch_yoshida4(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                     int multiprocessors, const Stream& stream) {
    launch_kernel<Yoshida4>("three-body kernel (yoshida4)", problem, on_gpu, range, multiprocessors, stream);
}

}  // namespace voltpile::threebody
