#include <fmt/format.h>

#include <algorithm>

#include "device/buffer.h"
#include "device/device.h"
#include "device/stream.h"
#include "measure/gpu_rates.h"
#include "measure/time_on.h"
#include "rootmap/bench.h"
#include "rootmap/gpu_program.h"
#include "rootmap/methods.h"

namespace voltpile::rootmap {

void bench_gpu(const BenchCase& of) {
    constexpr int repeats = 5;  // the first one loads the kernels
    use_device(0);
    const DeviceInfo info = device_info(0);
    const Stream stream;
    const auto points = static_cast<std::size_t>(of.points);
    const auto program = make_gpu_program(of.problem, {});
    DeviceBuffer<GpuRange::Counters> counters(1);
    DeviceBuffer<std::byte> raw(points * program->raw_bytes());
    DeviceBuffer<std::byte> values(points * of.bytes_per_point());
    GpuRange range;
    range.points = static_cast<std::uint32_t>(points);
    range.counters = counters.data();
    range.raw = raw.data();
    std::byte* next = values.data();
    for (const OutcomeField& field : of.fields) {
        range.values[field.number] = next;
        next += points * field.spec.bytes_per_point();
    }
    double seconds = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        set_to_zero(counters.data(), counters.bytes(), stream);
        const double time = time_on(stream, [&] { program->launch(range, info.multiprocessors, stream); });
        seconds = repeat == 0 ? time : std::min(seconds, time);
    }
    PinnedBuffer<GpuRange::Counters> seen(1);
    copy_to_host(seen.data(), counters.data(), counters.bytes(), stream);
    stream.synchronize();
    const auto iterations = static_cast<double>(seen.data()->units);
    // As long as what it is compared with, for clocks fall under load.
    const double peak = gpu_fp64_rate(0, seconds, stream);
    const double instructions = instructions_of(of.problem);

    fmt::print("{}: {}\n", info.name, of.title);
    fmt::print("{:<44} {:>12.5f} s\n", fmt::format("kernel time, best of {}", repeats), seconds);
    fmt::print("{:<44} {:>12.4e}\n", "iterations", iterations);
    fmt::print("{:<44} {:>12.4e} /s\n", "iterations", iterations / seconds);
    fmt::print("{:<44} {:>12.0f}\n", "FP64 instructions an iteration", instructions);
    fmt::print("{:<44} {:>12.4e} /s\n", "FP64 instructions", iterations / seconds * instructions);
    fmt::print("{:<44} {:>12.4e} /s\n", "FP64 instructions of a pure FMA loop", peak);
    fmt::print("{:<44} {:>12.1f} %\n", "of it", 100 * iterations / seconds * instructions / peak);
    fmt::print("{:<44} {:>12.4e} /s\n", fmt::format("bytes of results, {} a point", of.bytes_per_point()),
               static_cast<double>(values.bytes()) / seconds);
}

}  // namespace voltpile::rootmap
