#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "base/error.h"
#include "device/buffer.h"
#include "device/device.h"
#include "measure/copy_rates.h"
#include "measure/gpu_rates.h"
#include "measure/host_rates.h"
#if VOLTPILE_CUDA
#include "measure/rate_kernels.h"
#endif

namespace voltpile {
namespace {

constexpr std::int64_t bytes_to_read = 10'000'019;  // odd, and more than the caches of a core

TEST(HostReadRate, IsMeasuredOnOneAndOnSeveralThreads) {
    EXPECT_GT(host_read_rate(bytes_to_read, {-1}), 0);
    EXPECT_GT(host_read_rate(bytes_to_read, {-1, -1, -1}), 0);
}

TEST(CopyRates, RejectAnAbsentGpu) {
    EXPECT_THROW(host_copy_rates(device_count(), 1000), DeviceError);
    EXPECT_THROW(peer_copy_rate(device_count(), device_count() + 1, 1000), DeviceError);
}

// No chip exceeds the product of its clock and its units, nor its memory the product of its clock and width.
// The margin covers clocks that a driver rounds.
TEST(GpuRates, StayBelowWhatTheChipCanDo) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    use_device(0);
    const DeviceInfo info = device_info(0);
    const Stream stream;
    constexpr double margin = 1.03, fp64_units = 64, tensor_units = 2048;  // of the largest multiprocessor
    const double clocks = 1e9 * info.clock_ghz * info.multiprocessors * margin;
    for (const double rate :
         {gpu_read_rate(0, std::int64_t{1} << 30, stream), gpu_copy_rate(0, std::int64_t{1} << 30, stream)}) {
        EXPECT_GT(rate, 0);
        EXPECT_LT(rate, info.memory_gb_per_s * 1e9 * margin);
    }
    const double fp64 = gpu_fp64_rate(0, 0.05, stream);
    EXPECT_GT(fp64, 0);
    EXPECT_LT(fp64, fp64_units * clocks);
    if (info.compute_capability < 70) {
        EXPECT_THROW(gpu_tensor_rate(0, 0.05, stream), DeviceError);
        return;
    }
    const double tensor = gpu_tensor_rate(0, 0.05, stream);
    EXPECT_GT(tensor, fp64);
    EXPECT_LT(tensor, tensor_units * clocks);
}

TEST(GpuCopyRates, AreMeasuredInBothDirections) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    const HostCopyRates rates = host_copy_rates(0, 1'000'003);
    EXPECT_GT(rates.to_gpu, 0);
    EXPECT_GT(rates.from_gpu, 0);
}

TEST(GpuCopyRates, AreMeasuredBetweenTwoGpus) {
    if (device_count() < 2) GTEST_SKIP() << "fewer than two GPUs on this machine";
    for (int again = 0; again < 2; ++again)  // the second finds the path open
        for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}})
            if (const auto rate = peer_copy_rate(from, to, 1'000'003)) {
                EXPECT_GT(*rate, 0);
            }
}

#if VOLTPILE_CUDA
TEST(GpuRateKernels, CopyEveryByteAndNoMore) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    use_device(0);
    const Stream stream;
    constexpr std::size_t count = 16 * 100'003, room = count + 16;
    PinnedBuffer<unsigned char> host(room), back(room);
    for (std::size_t i = 0; i < room; ++i) host.data()[i] = static_cast<unsigned char>(1 + i % 251);
    DeviceBuffer<unsigned char> from(room), to(room);
    copy_to_device(from.data(), host.data(), room, stream);
    set_to_zero(to.data(), room, stream);
    launch_copy_all(to.data(), from.data(), static_cast<std::int64_t>(count), 3, stream);
    copy_to_host(back.data(), to.data(), room, stream);
    stream.synchronize();
    for (std::size_t i = 0; i < room; ++i) ASSERT_EQ(back.data()[i], i < count ? host.data()[i] : 0) << i;
}
#endif

}  // namespace
}  // namespace voltpile
