#include "llm/replica/pass_rests.h"

#include <algorithm>
#include <thread>

#include "device/stream_call.h"

namespace voltpile::llm {
namespace {

using Clock = std::chrono::steady_clock;

// GPUs that had no work for longer than this begin slowly again.
constexpr RestTimes::Duration new_work_after{1.0};
constexpr RestTimes::Duration longest_rest{1.0};

}  // namespace

RestTimes::Duration RestTimes::before_pass(Time now) {
    const Duration idle = now - ended_;
    if (idle > new_work_after || ended_ == Time()) {
        work_since_ = now;
        return Duration(0);
    }
    const double rest = duty_.rest_in_step(now - work_since_);
    const Duration owed = (ended_ - began_) * (rest / (1 - rest)) - idle;
    return std::clamp(owed, Duration(0), longest_rest);
}

PassRests::PassRests(const GpuDuty& duty, const Stream& stream)
    : stream_(stream), times_(std::make_shared<RestTimes>(duty)) {}

void PassRests::before_pass() {
    enqueue_call(stream_, [times = times_] {
        std::this_thread::sleep_for(times->before_pass(Clock::now()));
        times->begins(Clock::now());
    });
}

void PassRests::after_pass() {
    enqueue_call(stream_, [times = times_] { times->ends(Clock::now()); });
}

}  // namespace voltpile::llm
