// A kernel that was compiled while the program runs, on the current GPU. Only in builds with CUDA.
#pragma once

#include <memory>

#include "device/nvrtc.h"
#include "device/stream.h"

namespace voltpile {

class LoadedKernel {
  public:
    // Loads the code to the current GPU, whose context must exist: a Stream makes it. Throws DeviceError.
    explicit LoadedKernel(const CompiledKernel& compiled);

    // Bytes of local memory of each thread: for registers that do not fit, and arrays.
    int local_bytes() const { return local_bytes_; }
    int registers() const { return registers_; }

    // Enqueues the kernel. arguments: the address of each parameter. The GPU it was loaded to must be
    // current. Throws DeviceError if the launch fails.
    void launch(int blocks, int threads, void** arguments, const Stream& stream) const;

  private:
    std::shared_ptr<void> module_;
    void* function_ = nullptr;
    int local_bytes_ = 0, registers_ = 0;
};

}  // namespace voltpile
