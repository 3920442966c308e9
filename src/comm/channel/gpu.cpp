#include "comm/channel/gpu.h"

#include <fmt/format.h>

#include "device/device.h"

#if VOLTPILE_CUDA

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <vector>

#include "base/error.h"
#include "device/capture.h"
#include "device/check.h"
#include "device/driver_function.h"
#include "device/memory.h"
#include "device/stream.h"

namespace voltpile {
namespace {

constexpr std::size_t flag_count = 4096;

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    cuda_check(cudaDeviceGetAttribute(&value, which, device), "asking for the GPU's abilities");
    return value;
}

class CudaChannelGpu;

class CudaMark : public GpuMark {
  public:
    CudaMark(CudaChannelGpu& gpu, cudaStream_t stream);
    ~CudaMark() override;
    bool reached() override {
        const cudaError_t state = cudaEventQuery(event_);
        if (state == cudaErrorNotReady) {
            cudaGetLastError();
            return false;
        }
        cuda_check(state, "waiting for work before a transfer");
        return true;
    }

  private:
    CudaChannelGpu& gpu_;
    cudaEvent_t event_ = nullptr;
};

class CudaChannelGpu : public ChannelGpu {
  public:
    explicit CudaChannelGpu(int device) : device_(device) {
        use_device(device);
        // The highest priority: streams of one priority may share a hardware queue, and behind a stream that
        // waits for a flag these copies would wait forever.
        int lowest = 0, highest = 0;
        cuda_check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "asking for stream priorities");
        cuda_check(cudaStreamCreateWithPriority(&copies_, cudaStreamNonBlocking, highest),
                   "creating a stream");
        const cudaError_t error = cudaHostAlloc(reinterpret_cast<void**>(&flags_),
                                                flag_count * sizeof *flags_, cudaHostAllocDefault);
        if (error != cudaSuccess) {
            cudaStreamDestroy(copies_);
            throw_device_error(error, "allocating pinned memory");
        }
        for (std::size_t i = 0; i < flag_count; ++i) flags_[i] = 0;
        numbers_.resize(flag_count, 0);
        for (std::size_t i = flag_count; i-- > 0;) free_flags_.push_back(i);
        wait_value_ =
            driver_function<CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned)>("cuStreamWaitValue32");
        const auto get_attribute =
            driver_function<CUresult(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
        int dma_buf = 0;
        if (get_attribute != nullptr &&
            get_attribute(&dma_buf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device) == CUDA_SUCCESS)
            dma_buf_ = dma_buf != 0;
        flushes_ = attribute(cudaDevAttrGPUDirectRDMAWritesOrdering, device) <
                       cudaGPUDirectRDMAWritesOrderingOwner &&
                   (attribute(cudaDevAttrGPUDirectRDMAFlushWritesOptions, device) &
                    cudaFlushGPUDirectRDMAWritesOptionHost) != 0;
    }
    ~CudaChannelGpu() override {
        const int previous = enter();
        cudaStreamSynchronize(copies_);
        for (cudaEvent_t event : free_events_) cudaEventDestroy(event);
        cudaStreamDestroy(copies_);
        cudaFreeHost(flags_);
        leave(previous);
    }

    void adopt_thread() noexcept override {
        cudaSetDevice(device_);
        // Querying events here must not break a capture that another thread has begun.
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        cudaThreadExchangeStreamCaptureMode(&mode);
    }
    int enter() noexcept override {
        int previous = device_;
        cudaGetDevice(&previous);
        if (previous != device_) cudaSetDevice(device_);
        return previous;
    }
    void leave(int previous) noexcept override {
        if (previous != device_) cudaSetDevice(previous);
    }

    std::unique_ptr<GpuMark> mark(const Stream& stream) override {
        check_not_captured(stream);
        return std::make_unique<CudaMark>(*this, stream.get());
    }

    void* allocate_staging(std::size_t bytes) override { return allocate_pinned(bytes); }
    void release_staging(void* memory) noexcept override { release_pinned(memory); }

    std::unique_ptr<GpuMark> copy_to_host(void* host, const void* gpu, std::size_t bytes) override {
        return copy(host, gpu, bytes, cudaMemcpyDeviceToHost);
    }
    std::unique_ptr<GpuMark> copy_to_gpu(void* gpu, const void* host, std::size_t bytes) override {
        return copy(gpu, host, bytes, cudaMemcpyHostToDevice);
    }
    std::unique_ptr<GpuMark> copy_on_gpu(void* to, const void* from, std::size_t bytes) override {
        return copy(to, from, bytes, cudaMemcpyDefault);
    }

    Flag take_flag() override {
        if (free_flags_.empty())
            throw DeviceError(fmt::format("GPU {}: streams already wait for {} transfers, the maximum",
                                          device_, flag_count));
        const std::size_t index = free_flags_.back();
        free_flags_.pop_back();
        return {index, ++numbers_[index]};
    }
    void wait_for_flag(const Stream& stream, Flag flag) override {
        check_not_captured(stream);
        if (wait_value_ == nullptr)
            throw DeviceError(fmt::format("GPU {}: its driver cannot let a stream wait for memory", device_));
        const CUresult result = wait_value_(stream.get(), reinterpret_cast<CUdeviceptr>(flags_ + flag.index),
                                            flag.number, CU_STREAM_WAIT_VALUE_GEQ);
        if (result != CUDA_SUCCESS)
            throw DeviceError(fmt::format("GPU {}: letting a stream wait for memory: error {} of the driver",
                                          device_, static_cast<int>(result)));
    }
    void raise_flag(Flag flag) noexcept override {
        std::atomic_ref(flags_[flag.index]).store(flag.number, std::memory_order_release);
        free_flags_.push_back(flag.index);
    }

    void flush_network_writes() override {
        if (!flushes_) return;
        cuda_check(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                                      cudaFlushGPUDirectRDMAWritesToOwner),
                   "making the network's writes visible");
    }
    bool has_dma_buf() const override { return dma_buf_; }

    cudaEvent_t take_event() {
        cudaEvent_t event = nullptr;
        if (!free_events_.empty()) {
            event = free_events_.back();
            free_events_.pop_back();
        } else {
            cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
        }
        return event;
    }
    void return_event(cudaEvent_t event) { free_events_.push_back(event); }

  private:
    std::unique_ptr<GpuMark> copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
        cuda_check(cudaMemcpyAsync(to, from, bytes, kind, copies_), "copying for a transfer");
        return std::make_unique<CudaMark>(*this, copies_);
    }
    void check_not_captured(const Stream& stream) const {
        if (captures(stream))
            throw CommError(
                "a transfer cannot be captured in a CUDA graph: send and receive between graph launches");
    }

    int device_;
    cudaStream_t copies_ = nullptr;
    std::uint32_t* flags_ = nullptr;      // pinned
    std::vector<std::uint32_t> numbers_;  // the last number of each flag
    std::vector<std::size_t> free_flags_;
    std::vector<cudaEvent_t> free_events_;
    CUresult (*wait_value_)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = nullptr;
    bool dma_buf_ = false;
    bool flushes_ = false;
};

CudaMark::CudaMark(CudaChannelGpu& gpu, cudaStream_t stream) : gpu_(gpu), event_(gpu.take_event()) {
    const cudaError_t error = cudaEventRecord(event_, stream);
    if (error == cudaSuccess) return;
    gpu_.return_event(event_);
    throw_device_error(error, "recording an event");
}

CudaMark::~CudaMark() {
    gpu_.return_event(event_);
}

}  // namespace

std::unique_ptr<ChannelGpu> make_channel_gpu(int device) {
    return std::make_unique<CudaChannelGpu>(device);
}

}  // namespace voltpile

#else

namespace voltpile {

std::unique_ptr<ChannelGpu> make_channel_gpu(int device) {
    use_device(device);  // throws
    return nullptr;
}

}  // namespace voltpile

#endif
