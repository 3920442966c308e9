// The program of an app that computes ranges of points on a GPU.
#pragma once

#include <cstddef>

#include "device/stream.h"
#include "sweep/gpu_range.h"

namespace voltpile {

// What an app computes on the current GPU.
class GpuProgram {
  public:
    virtual ~GpuProgram() = default;

    // Bytes of GpuRange::raw that a point needs.
    virtual std::size_t raw_bytes() const = 0;

    // Enqueues the whole range. multiprocessors: of the current GPU. Throws DeviceError if a launch fails.
    virtual void launch(const GpuRange& range, int multiprocessors, const Stream& stream) const = 0;
};

}  // namespace voltpile
