#include "measure/copy_rates.h"

#include <cstring>

#include "base/error.h"
#include "device/buffer.h"
#include "device/device.h"
#include "measure/time_on.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {
namespace {

constexpr int copies = 5;

}  // namespace

HostCopyRates host_copy_rates(int device, std::size_t bytes) {
    use_device(device);
    const Stream stream;
    PinnedBuffer<std::byte> host(bytes);
    DeviceBuffer<std::byte> gpu(bytes);
    std::memset(host.data(), 1, bytes);
    const double to = least_time_on(stream, copies,
                                    [&] { copy_to_device(gpu.data(), host.data(), bytes, stream); }),
                 from = least_time_on(stream, copies,
                                      [&] { copy_to_host(host.data(), gpu.data(), bytes, stream); });
    return {static_cast<double>(bytes) / to, static_cast<double>(bytes) / from};
}

#if VOLTPILE_CUDA

namespace {

// Lets the current GPU reach another one's memory. Leaves it as it was before.
class PeerAccess {
  public:
    explicit PeerAccess(int peer) : peer_(peer) {
        const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
        opened_ = error == cudaSuccess;
        if (error == cudaErrorPeerAccessAlreadyEnabled)
            cudaGetLastError();  // clears it
        else
            cuda_check(error, "opening the path between two GPUs");
    }
    ~PeerAccess() {
        if (opened_) cudaDeviceDisablePeerAccess(peer_);
    }
    PeerAccess(const PeerAccess&) = delete;
    PeerAccess& operator=(const PeerAccess&) = delete;

  private:
    int peer_;
    bool opened_ = false;
};

}  // namespace

std::optional<double> peer_copy_rate(int from, int to, std::size_t bytes) {
    int direct = 0;
    cuda_check(cudaDeviceCanAccessPeer(&direct, to, from), "asking whether two GPUs reach each other");
    if (!direct) return std::nullopt;
    use_device(from);
    DeviceBuffer<std::byte> source(bytes);
    use_device(to);
    DeviceBuffer<std::byte> target(bytes);
    const PeerAccess access(from);
    const Stream stream;
    return static_cast<double>(bytes) / least_time_on(stream, copies, [&] {
               cuda_check(cudaMemcpyPeerAsync(target.data(), to, source.data(), from, bytes, stream.get()),
                          "copying between two GPUs");
           });
}

#else

std::optional<double> peer_copy_rate(int, int, std::size_t) {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
