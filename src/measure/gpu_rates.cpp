#include "measure/gpu_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/error.h"
#include "device/buffer.h"
#include "device/device.h"
#include "measure/time_on.h"
#if VOLTPILE_CUDA
#include "measure/rate_kernels.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

namespace {

constexpr int memory_rounds = 5;
constexpr std::int64_t page_bytes = 4096;

std::int64_t bytes_that_fit(const DeviceInfo& info, std::int64_t bytes) {
    const std::int64_t free = info.memory_bytes - device_bytes_in_use();
    return std::max(std::min(bytes, free / 4) / page_bytes, std::int64_t{1}) * page_bytes;
}

// time_rounds: returns the seconds that a number of rounds takes. Returns rounds per second.
template <class TimeRounds>
double best_round_rate(double seconds_each, int trial_rounds, const TimeRounds& time_rounds) {
    time_rounds(trial_rounds);  // warms up
    const double longer = std::clamp(seconds_each / time_rounds(trial_rounds), 1.0, 1e4);
    const int rounds = static_cast<int>(trial_rounds * longer);
    double best = 0;
    for (int repeat = 0; repeat < 3; ++repeat) best = std::max(best, rounds / time_rounds(rounds));
    return best;
}

}  // namespace

double gpu_read_rate(int device, std::int64_t bytes, const Stream& stream) {
    const DeviceInfo info = device_info(device);
    bytes = bytes_that_fit(info, bytes);
    DeviceBuffer<std::byte> memory(static_cast<std::size_t>(bytes) + 16);
    set_to_zero(memory.data(), memory.bytes(), stream);
    return static_cast<double>(bytes) / least_time_on(stream, memory_rounds, [&] {
               launch_read_all(memory.data(), bytes, memory.data() + bytes, info.multiprocessors, stream);
           });
}

double gpu_copy_rate(int device, std::int64_t bytes, const Stream& stream) {
    const DeviceInfo info = device_info(device);
    bytes = bytes_that_fit(info, bytes);
    DeviceBuffer<std::byte> from(static_cast<std::size_t>(bytes)), to(from.size());
    set_to_zero(from.data(), from.bytes(), stream);
    return 2 * static_cast<double>(bytes) / least_time_on(stream, memory_rounds, [&] {
               launch_copy_all(to.data(), from.data(), bytes, info.multiprocessors, stream);
           });
}

double gpu_fp64_rate(int device, double seconds_each, const Stream& stream) {
    const int blocks = 8 * device_info(device).multiprocessors;
    DeviceBuffer<double> out(1);
    const double rounds_per_s = best_round_rate(seconds_each, 20'000, [&](int rounds) {
        return time_on(stream, [&] { launch_fma_loop(blocks, rounds, out.data(), stream); });
    });
    return rounds_per_s * multiply_adds_of_fma_loop(blocks, 1);
}

double gpu_tensor_rate(int device, double seconds_each, const Stream& stream) {
    const DeviceInfo info = device_info(device);
    if (info.compute_capability < 70)
        throw DeviceError(fmt::format("GPU {} ({}) has no tensor cores", device, info.name));
    const int blocks = 4 * info.multiprocessors;
    DeviceBuffer<float> out(1);
    const double rounds_per_s = best_round_rate(seconds_each, 2'000, [&](int rounds) {
        return time_on(stream, [&] { launch_tensor_loop(blocks, rounds, out.data(), stream); });
    });
    return rounds_per_s * multiply_adds_of_tensor_loop(blocks, 1);
}

#else

double gpu_read_rate(int, std::int64_t, const Stream&) {
    throw DeviceError(kNoCuda);
}
double gpu_copy_rate(int, std::int64_t, const Stream&) {
    throw DeviceError(kNoCuda);
}
double gpu_fp64_rate(int, double, const Stream&) {
    throw DeviceError(kNoCuda);
}
double gpu_tensor_rate(int, double, const Stream&) {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
