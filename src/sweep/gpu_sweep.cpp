#include "sweep/gpu_sweep.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "device/device.h"
#include "sweep/gpu_range_runner.h"

namespace voltpile {

namespace {

using Clock = std::chrono::steady_clock;

bool any_busy(const std::vector<std::unique_ptr<GpuRangeRunner>>& runners) {
    return std::any_of(runners.begin(), runners.end(), [](const auto& runner) { return runner->busy(); });
}

}  // namespace

GpuSweep::GpuSweep(const std::function<std::unique_ptr<GpuProgram>()>& make_program,
                   const std::vector<OutcomeField>& fields, int gpu, std::int64_t points)
    : gpu_(gpu) {
    use_device(gpu);
    program_ = make_program();
    const DeviceInfo info = device_info(gpu);
    for (int i = 0; i < 2; ++i) {
        runners_.push_back(std::make_unique<GpuRangeRunner>(*program_, fields, info.multiprocessors));
        runners_.back()->prepare(points);
    }
}

void GpuSweep::run(WorkScheduler& work, const SubmitRange& submit) {
    constexpr auto poll = std::chrono::microseconds(500);
    constexpr auto report = std::chrono::milliseconds(100);
    use_device(gpu_);
    auto reported = Clock::now();
    const auto account = [&](bool busy) {
        const auto now = Clock::now();
        if (busy) work.add_busy(std::chrono::duration<double>(now - reported).count());
        reported = now;
        for (const auto& runner : runners_) work.add_units(runner->take_units());
    };
    for (;;) {
        for (const auto& runner : runners_) {
            if (runner->busy()) continue;
            const bool busy = any_busy(runners_);
            if (!busy) account(true);
            const auto range = busy ? work.try_next() : work.next();
            if (!busy) reported = Clock::now();  // waiting does not count as busy
            if (range && !range->empty()) runner->start(*range);
        }
        if (!any_busy(runners_)) {
            if (work.exhausted()) break;
            continue;
        }
        std::this_thread::sleep_for(poll);
        for (const auto& runner : runners_) {
            if (!runner->busy() || !runner->advance()) continue;
            work.add_units(runner->take_units());
            const WorkRange range = runner->range();
            submit(range, runner->take());
        }
        if (Clock::now() - reported > report) account(true);
    }
}

}  // namespace voltpile
