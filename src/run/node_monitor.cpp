#include "run/node_monitor.h"

#include <atomic>
#include <cstdint>
#include <limits>

namespace voltpile {
namespace {

// Nanoseconds of a clock that all processes of a host share.
std::int64_t monotonic_ns() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct NodeMonitor::Page {
    std::atomic<std::int64_t> sampled_at_ns = 0;  // 0: no sample yet
    std::atomic<double> gpu_power_w = 0;          // NaN: a GPU does not say
};
static_assert(std::atomic<double>::is_always_lock_free);  // required in memory that processes share

NodeMonitor::NodeMonitor(const Communicator& world, std::chrono::milliseconds every)
    : every_(every),
      memory_(world, "voltpile-node-monitor", sizeof(Page)),
      page_(static_cast<Page*>(memory_.get())) {
    if (memory_.leads())
        watch_ = std::make_unique<NodeWatch>(every, [this](const NodeSample& sample) { publish(sample); });
}

NodeMonitor::~NodeMonitor() = default;

void NodeMonitor::publish(const NodeSample& sample) {
    page_->gpu_power_w = sample.gpus.power_w().value_or(std::numeric_limits<double>::quiet_NaN());
    page_->sampled_at_ns = monotonic_ns();
}

std::optional<double> NodeMonitor::gpu_power_w(std::chrono::milliseconds at_most) const {
    const std::int64_t at = page_->sampled_at_ns;
    const double power = page_->gpu_power_w;
    const bool fresh = at > 0 && monotonic_ns() - at <= std::chrono::nanoseconds(at_most).count();
    return fresh && power >= 0 ? std::optional(power) : std::nullopt;
}

}  // namespace voltpile
