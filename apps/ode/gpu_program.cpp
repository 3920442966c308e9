#include "ode/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_name.h"
#include "device/device.h"
#include "device/kernel_cache.h"
#include "device/loaded_kernel.h"
#include "ode/kernel_source.h"

namespace voltpile::ode {

namespace {

class OdeGpuProgram : public GpuProgram {
  public:
    OdeGpuProgram(LoadedKernel kernel, KernelShape shape) : kernel_(std::move(kernel)), shape_(shape) {}

    std::size_t raw_bytes() const override { return 0; }

    void launch(const GpuRange& range, int multiprocessors, const Stream& stream) const override {
        // Warps take 32 points at a time, so that a small range spreads over all multiprocessors.
        const std::int64_t warps = (static_cast<std::int64_t>(range.points) + 31) / 32;
        const auto blocks = static_cast<int>(std::clamp<std::int64_t>(warps, 1, multiprocessors));
        // The parameters of sweep_kernel (sweep/gpu_lanes.cuh): no problem, an empty struct, the range.
        void* problem = nullptr;
        char common = 0;
        GpuRange copy = range;
        void* arguments[] = {&problem, &common, &copy};
        kernel_.launch(blocks, shape_.threads, arguments, stream);
    }

  private:
    LoadedKernel kernel_;
    KernelShape shape_;
};

LoadedKernel load(const Nvrtc& compiler, const Problem& problem, const KernelShape& shape) {
    const int capability = device_info(current_device()).compute_capability;
    return LoadedKernel(
        compile_once(compiler, kernel_source(problem, shape), capability, kernel_cache_folder()));
}

}  // namespace

std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem) {
    const Stream makes_the_context;
    try {
        const Nvrtc compiler;
        // Half of the lanes have twice the registers.
        KernelShape shape = kernel_shape(problem);
        LoadedKernel kernel = load(compiler, problem, shape);
        if (kernel.local_bytes() > 0) {
            shape.threads /= 2;
            kernel = load(compiler, problem, shape);
        }
        return std::make_unique<OdeGpuProgram>(std::move(kernel), shape);
    } catch (const MachineError& error) {
        throw MachineError(fmt::format(
            "{}: cannot compile the equations for the GPU: {}; or compute on cores: run.device = \"cpu\"",
            host_name(), error.what()));
    }
}

}  // namespace voltpile::ode
