#include "device/device.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "device/buffer.h"
#include "device/stream.h"

namespace voltpile {
namespace {

TEST(Device, RejectsAnAbsentGpu) {
    EXPECT_THROW(use_device(device_count()), DeviceError);
    EXPECT_THROW(device_info(device_count()), DeviceError);
    EXPECT_THROW(use_device(-1), DeviceError);
    EXPECT_THROW(device_info(-1), DeviceError);
}

TEST(Device, AllocatesNothingForEmptyBuffers) {
    const DeviceBuffer<double> buffer(0);
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(buffer.bytes(), 0U);
}

TEST(Device, RejectsWorkWithoutAGpu) {
    if (device_count() > 0) GTEST_SKIP() << "this machine has a GPU";
    EXPECT_THROW(DeviceBuffer<double>(1), DeviceError);
    EXPECT_THROW(PinnedBuffer<double>(1), DeviceError);
    EXPECT_THROW(Stream(), DeviceError);
}

TEST(GpuDevice, CopiesToTheGpuAndBack) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    use_device(0);
    const DeviceInfo info = device_info(0);
    EXPECT_GT(info.multiprocessors, 0);
    EXPECT_GT(info.memory_bytes, 0);

    constexpr std::size_t count = 1001;  // not a multiple of anything
    PinnedBuffer<int> host(count);
    for (std::size_t i = 0; i < count; ++i) host.data()[i] = static_cast<int>(i * i);
    DeviceBuffer<int> device(count);
    const Stream stream;
    Event start, end;
    start.record(stream);
    copy_to_device(device.data(), host.data(), host.bytes(), stream);
    set_to_zero(device.data(), 10 * sizeof(int), stream);
    PinnedBuffer<int> back(count);
    copy_to_host(back.data(), device.data(), back.bytes(), stream);
    end.record(stream);
    stream.synchronize();
    EXPECT_TRUE(stream.idle());
    EXPECT_GT(end.seconds_since(start), 0);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(back.data()[i], i < 10 ? 0 : static_cast<int>(i * i)) << i;
    }
}

TEST(GpuDevice, ReportsLackOfMemory) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    use_device(0);
    EXPECT_THROW(DeviceBuffer<char>(std::size_t{1} << 50), DeviceError);
    const DeviceBuffer<char> usable(16);  // the failure above left nothing behind
    EXPECT_NE(usable.data(), nullptr);
}

}  // namespace
}  // namespace voltpile
