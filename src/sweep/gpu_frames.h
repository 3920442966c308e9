// The numbers of a movie's frames on a GPU.
#pragma once

#include <span>

#include "device/buffer.h"
#include "device/stream.h"
#include "sweep/parameter_source.h"

namespace voltpile {

class GpuFrames {
  public:
    // Copies the numbers that sources point to (ParameterSource::frames) to the current GPU, and lets the
    // sources point there. numbers: all of them. Throws DeviceError.
    GpuFrames(std::span<const double> numbers, std::span<ParameterSource> sources, const Stream& stream);

  private:
    DeviceBuffer<double> numbers_;
};

}  // namespace voltpile
