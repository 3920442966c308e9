#include "nbody/gpu_program.h"

#include <vector>

#include "device/buffer.h"
#include "nbody/gpu_kernel.h"
#include "sweep/gpu_frames.h"

namespace voltpile::nbody {

namespace {

std::vector<ParameterSource> swept_sources(const Problem& problem) {
    std::vector<ParameterSource> sources;
    for (const NumberSource& number : problem.numbers) sources.push_back(number.swept);
    return sources;
}

class NbodyGpuProgram : public GpuProgram {
  public:
    NbodyGpuProgram(const Problem& problem, std::span<const double> frames, std::span<const double> table)
        : there_(problem),
          sources_(swept_sources(problem)),
          frames_(frames, sources_, stream_),
          table_(table.size()),
          on_gpu_(1) {
        for (int i = 0; i < kNumbers; ++i) there_.numbers[i].swept = sources_[static_cast<std::size_t>(i)];
        if (!table.empty()) {
            copy_to_device(table_.data(), table.data(), table_.bytes(), stream_);
            there_.table = table_.data();
        }
        copy_to_device(on_gpu_.data(), &there_, sizeof there_, stream_);
        stream_.synchronize();
    }

    std::size_t raw_bytes() const override { return raw_bytes_per_point(there_.bodies); }

    void launch(const GpuRange& range, int multiprocessors, const Stream& stream) const override {
        switch (there_.method) {
            case Method::RungeKuttaNystrom8:
                return launch_rkn8(there_, on_gpu_.data(), range, multiprocessors, stream);
            case Method::Extrapolation10:
                return launch_gbs10(there_, on_gpu_.data(), range, multiprocessors, stream);
            default:
                return launch_fixed_steps(there_, on_gpu_.data(), range, multiprocessors, stream);
        }
    }

  private:
    Problem there_;  // points to GPU memory
    Stream stream_;
    std::vector<ParameterSource> sources_;  // of there_
    GpuFrames frames_;
    DeviceBuffer<double> table_;
    DeviceBuffer<Problem> on_gpu_;
};

}  // namespace

std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem, std::span<const double> frames,
                                             std::span<const double> table) {
    return std::make_unique<NbodyGpuProgram>(problem, frames, table);
}

}  // namespace voltpile::nbody
