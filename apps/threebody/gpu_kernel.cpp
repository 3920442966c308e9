#include "threebody/gpu_kernel.h"

namespace voltpile::threebody {

void launch_sweep(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream) {
    switch (problem.method) {
        case Method::Euler:
            return launch_euler(problem, on_gpu, range, multiprocessors, stream);
        case Method::Leapfrog:
            return launch_leapfrog(problem, on_gpu, range, multiprocessors, stream);
        case Method::Yoshida4:
            return launch_yoshida4(problem, on_gpu, range, multiprocessors, stream);
        case Method::RungeKutta4:
            return launch_rk4(problem, on_gpu, range, multiprocessors, stream);
    }
}

}  // namespace voltpile::threebody
