#include "sweep/gpu_sweep.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/phase.h"
#include "device/device.h"
#include "plan/sweep_memory.h"
#include "sweep/gpu_range_runner.h"

namespace voltpile {

namespace {

using Clock = std::chrono::steady_clock;

bool any_busy(const std::vector<std::unique_ptr<GpuRangeRunner>>& runners) {
    return std::any_of(runners.begin(), runners.end(), [](const auto& runner) { return runner->busy(); });
}

}  // namespace

// Tells the kernels on the GPU how much to rest, also while they run.
class GpuSweep::Rest {
  public:
    explicit Rest(const GpuDuty& duty) : duty_(duty), on_gpu_(1), on_host_(1) { update(); }

    const std::uint32_t* on_gpu() const { return on_gpu_.data(); }

    // Waits until this GPU may begin, or the job stops.
    void await_begin(const WorkScheduler& work) const {
        constexpr auto poll = std::chrono::milliseconds(5);
        for (const auto until = Clock::now() + duty_.begins_after();
             Clock::now() < until && !work.stopping();)
            std::this_thread::sleep_for(poll);
    }

    void update() {
        const auto now = static_cast<std::uint32_t>(duty_.rest() * rest_period);
        if (known_ && now == *on_host_.data()) return;
        known_ = true;
        *on_host_.data() = now;
        copy_to_device(on_gpu_.data(), on_host_.data(), on_gpu_.bytes(), stream_);
        stream_.synchronize();
    }

  private:
    static constexpr double rest_period = GpuRange::rest_period_ns;

    const GpuDuty& duty_;
    DeviceBuffer<std::uint32_t> on_gpu_;
    PinnedBuffer<std::uint32_t> on_host_;
    bool known_ = false;  // on_gpu_ holds on_host_
    Stream stream_;       // beside those of the kernels
};

GpuSweep::GpuSweep(const std::function<std::unique_ptr<GpuProgram>()>& make_program,
                   const std::vector<OutcomeField>& fields, int gpu, std::int64_t points, const GpuDuty* duty)
    : gpu_(gpu) {
    use_device(gpu);
    program_ = make_program();
    if (duty) rest_ = std::make_unique<Rest>(*duty);
    const DeviceInfo info = device_info(gpu);
    for (int i = 0; i < kGpuRangesInFlight; ++i) {
        runners_.push_back(std::make_unique<GpuRangeRunner>(*program_, fields, info.multiprocessors,
                                                            rest_ ? rest_->on_gpu() : nullptr));
        runners_.back()->prepare(points);
    }
}

GpuSweep::~GpuSweep() = default;

void GpuSweep::run(WorkScheduler& work, const SubmitRange& submit) {
    constexpr auto poll = std::chrono::microseconds(500);
    constexpr auto report = std::chrono::milliseconds(100);
    use_device(gpu_);
    if (rest_) rest_->await_begin(work);
    auto reported = Clock::now();
    const auto account = [&](bool busy) {
        const auto now = Clock::now();
        if (busy) work.add_busy(std::chrono::duration<double>(now - reported).count());
        reported = now;
        for (const auto& runner : runners_) {
            work.add_units(runner->take_units());
            if (runner->take_moved()) count_step(Phase::Compute);
        }
    };
    std::optional<InPhase> computing;  // while a range is on the GPU
    for (;;) {
        for (const auto& runner : runners_) {
            if (runner->busy()) continue;
            const bool busy = any_busy(runners_);
            if (!busy) {
                account(true);
                computing.reset();  // waiting for a range is not computing
            }
            const auto range = busy ? work.try_next() : work.next();
            if (!busy) reported = Clock::now();  // waiting does not count as busy
            if (!range || range->empty()) continue;
            if (!computing) computing.emplace(Phase::Compute);
            if (!runner->start(*range, work.level())) submit(*range, runner->take());
        }
        if (!any_busy(runners_)) {
            if (work.exhausted()) break;
            continue;
        }
        std::this_thread::sleep_for(poll);
        if (rest_) rest_->update();
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
