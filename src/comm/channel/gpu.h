// What channels need of a GPU. An interface, so that tests stage GPU buffers without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace voltpile {

class Stream;

// A point in a stream's work.
class GpuMark {
  public:
    virtual ~GpuMark() = default;
    virtual bool reached() = 0;  // never waits; throws DeviceError if the work failed
};

class ChannelGpu {
  public:
    virtual ~ChannelGpu() = default;

    // Makes this the calling thread's device: for good (a thread of the channels' own), or until leave(),
    // which takes what enter() returned.
    virtual void adopt_thread() noexcept = 0;
    virtual int enter() noexcept = 0;
    virtual void leave(int previous) noexcept = 0;

    // Marks the end of the work that `stream` holds now. Throws CommError if it is being captured.
    virtual std::unique_ptr<GpuMark> mark(const Stream& stream) = 0;

    // Allocates pinned host memory.
    virtual void* allocate_staging(std::size_t bytes) = 0;
    virtual void release_staging(void* memory) noexcept = 0;

    // Starts a copy between GPU and pinned memory, on a stream of the channels' own.
    virtual std::unique_ptr<GpuMark> copy_to_host(void* host, const void* gpu, std::size_t bytes) = 0;
    virtual std::unique_ptr<GpuMark> copy_to_gpu(void* gpu, const void* host, std::size_t bytes) = 0;
    virtual std::unique_ptr<GpuMark> copy_on_gpu(void* to, const void* from, std::size_t bytes) = 0;

    // A number in memory that streams can wait for. A flag that was lowered may be reused at once: its
    // numbers only grow, so streams that still wait for the old one pass.
    struct Flag {
        std::size_t index = 0;
        std::uint32_t number = 0;
    };
    virtual Flag take_flag() = 0;
    virtual void wait_for_flag(const Stream& stream, Flag flag) = 0;  // enqueued
    virtual void raise_flag(Flag flag) noexcept = 0;  // lets waiting streams pass, and returns the flag

    // Makes data that a network card wrote into GPU memory visible to work on the GPU.
    virtual void flush_network_writes() = 0;
    // True if network cards can write into this GPU's memory by dma-buf.
    virtual bool has_dma_buf() const = 0;
};

// Throws DeviceError if there is no such GPU or the build has no CUDA.
std::unique_ptr<ChannelGpu> make_channel_gpu(int device);

}  // namespace voltpile
