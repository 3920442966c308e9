#include "rootmap/gpu_program.h"

#include "device/buffer.h"
#include "rootmap/gpu_kernel.h"
#include "rootmap/parameter_table.h"
#include "sweep/gpu_frames.h"

namespace voltpile::rootmap {

namespace {

class RootmapGpuProgram : public GpuProgram {
  public:
    RootmapGpuProgram(const Problem& problem, std::span<const double> frames)
        : there_(problem),
          frames_(frames, {as_array(there_.sources), parameter_count}, stream_),
          orbit_(problem.orbit == nullptr ? 0 : 2 * (static_cast<std::size_t>(problem.orbit_steps) + 1)),
          on_gpu_(1) {
        if (problem.orbit != nullptr) {
            copy_to_device(orbit_.data(), problem.orbit, orbit_.bytes(), stream_);
            there_.orbit = orbit_.data();
        }
        copy_to_device(on_gpu_.data(), &there_, sizeof there_, stream_);
        stream_.synchronize();
    }

    std::size_t raw_bytes() const override { return raw_bytes_per_point(there_.precision); }

    void launch(const GpuRange& range, int multiprocessors, const Stream& stream) const override {
        switch (there_.precision) {
            case Precision::Fp64:
                return launch_fp64(there_, on_gpu_.data(), range, multiprocessors, stream);
            case Precision::Fp32:
                return launch_fp32(there_, on_gpu_.data(), range, multiprocessors, stream);
            case Precision::DoubleDouble:
                return launch_double_double(there_, on_gpu_.data(), range, multiprocessors, stream);
            case Precision::Perturbation:
                return launch_perturbation(there_, on_gpu_.data(), range, multiprocessors, stream);
        }
    }

  private:
    Problem there_;  // points to GPU memory
    Stream stream_;
    GpuFrames frames_;
    DeviceBuffer<double> orbit_;
    DeviceBuffer<Problem> on_gpu_;
};

}  // namespace

std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem, std::span<const double> frames) {
    return std::make_unique<RootmapGpuProgram>(problem, frames);
}

}  // namespace voltpile::rootmap
