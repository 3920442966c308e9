#include "threebody/gpu_rate.h"

#include "device/buffer.h"
#include "measure/time_on.h"
#include "threebody/bench.h"
#include "threebody/gpu_program.h"
#include "threebody/methods.h"
#include "threebody/outcome.h"

namespace voltpile::threebody {

GpuSweepTime time_gpu_sweep(const Problem& problem, std::uint32_t points, const DeviceInfo& info,
                            const Stream& stream) {
    const auto program = make_gpu_program(problem);
    DeviceBuffer<GpuRange::Counters> counters(1);
    DeviceBuffer<std::int32_t> steps_together(points);
    DeviceBuffer<std::byte> raw(points * program->raw_bytes());
    GpuRange range;
    range.raw = raw.data();
    range.points = points;
    range.counters = counters.data();
    range.values[static_cast<int>(Field::steps_together)] = steps_together.data();
    GpuSweepTime best;
    for (int repeat = 0; repeat < 4; ++repeat) {
        set_to_zero(counters.data(), counters.bytes(), stream);
        const double seconds = time_on(stream, [&] { program->launch(range, info.multiprocessors, stream); });
        if (repeat == 0 || seconds < best.seconds) best.seconds = seconds;
    }
    PinnedBuffer<GpuRange::Counters> seen(1);
    copy_to_host(seen.data(), counters.data(), counters.bytes(), stream);
    stream.synchronize();
    best.pair_steps = static_cast<double>(seen.data()->units);
    return best;
}

double measure_gpu_rate(Method method, bool single_precision, const DeviceInfo& info) {
    BenchOptions options;
    options.size = published_size;
    options.steps = 5000;
    options.method = threebody::info(method).name;
    Problem problem = published_problem(options);
    problem.single_precision = single_precision;
    const Stream stream;
    return time_gpu_sweep(problem, published_size * published_size, info, stream).rate();
}

}  // namespace voltpile::threebody
