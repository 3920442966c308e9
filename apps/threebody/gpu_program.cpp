#include "threebody/gpu_program.h"

#include "device/buffer.h"
#include "sweep/gpu_frames.h"
#include "threebody/gpu_kernel.h"
#include "threebody/methods.h"
#include "threebody/parameter_table.h"

namespace voltpile::threebody {

namespace {

class ThreebodyGpuProgram : public GpuProgram {
  public:
    explicit ThreebodyGpuProgram(const Problem& problem)
        : problem_(problem),
          there_(problem),
          frames_({problem.frame_numbers, static_cast<std::size_t>(problem.frame_numbers_count)},
                  {as_array(there_.sources), parameter_count}, stream_),
          on_gpu_(1) {
        copy_to_device(on_gpu_.data(), &there_, sizeof there_, stream_);
        stream_.synchronize();
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
    Problem there_;  // points to GPU memory
    Stream stream_;
    GpuFrames frames_;
    DeviceBuffer<Problem> on_gpu_;
};

}  // namespace

std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem) {
    return std::make_unique<ThreebodyGpuProgram>(problem);
}

}  // namespace voltpile::threebody
