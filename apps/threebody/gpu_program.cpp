#include "threebody/gpu_program.h"

#include "device/buffer.h"
#include "threebody/gpu_kernel.h"
#include "threebody/methods.h"

namespace voltpile::threebody {

namespace {

class ThreebodyGpuProgram : public GpuProgram {
  public:
    explicit ThreebodyGpuProgram(const Problem& problem) : problem_(problem), on_gpu_(1) {
        const Stream stream;
        copy_to_device(on_gpu_.data(), &problem_, sizeof problem_, stream);
        stream.synchronize();
    }

    std::size_t raw_bytes() const override {
        return raw_bytes_per_point(problem_, info(problem_.method).adaptive);
    }

    void launch(const GpuRange& range, int multiprocessors, const Stream& stream) const override {
        if (problem_.double_double)
            return launch_sweep_in_double_double(problem_, on_gpu_.data(), range, multiprocessors, stream);
        switch (problem_.method) {
#define VOLTPILE_LAUNCH(Integrator, file) \
    case Method::Integrator:              \
        return launch_sweep<Method::Integrator>(problem_, on_gpu_.data(), range, multiprocessors, stream);
            VOLTPILE_THREEBODY_METHODS(VOLTPILE_LAUNCH)
#undef VOLTPILE_LAUNCH
        }
    }

  private:
    const Problem problem_;
    DeviceBuffer<Problem> on_gpu_;
};

}  // namespace

std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem) {
    return std::make_unique<ThreebodyGpuProgram>(problem);
}

}  // namespace voltpile::threebody
