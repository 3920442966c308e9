#include "machine/node_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/line_process.h"
#include "base/seconds_since.h"
#include "machine/node_json.h"
#include "machine/probe.h"

namespace voltpile {
namespace {

constexpr std::size_t kKept = 1000;
constexpr std::chrono::milliseconds kPatrol{200};

}  // namespace

NodeWatch::NodeWatch(std::chrono::milliseconds every, std::function<void(const NodeSample&)> look)
    : every_(std::max(every, kFastestSampling)), look_(std::move(look)) {
    latest_.gpus.problem = "not sampled yet";
    thread_ = std::thread([this] { read_loop(); });
}

NodeWatch::~NodeWatch() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
    }
    thread_.join();
}

// The thread that starts the process also ends it: the kernel ends the process with its thread.
void NodeWatch::read_loop() try {
    LineProcess probe({probe_program().string(), "--every", fmt::format("{}", every_.count())});
    auto heard = std::chrono::steady_clock::now();
    const auto patience =
        std::chrono::duration<double>(std::max<std::chrono::milliseconds>(kProbeDeadline, 5 * every_));
    for (;;) {
        std::array<LineProcess*, 1> processes{&probe};
        LineProcess::pump(processes, kPatrol, kPatrol);
        if (std::lock_guard lock(mutex_); closing_) return;
        for (; !probe.lines.empty(); probe.lines.pop_front()) {
            add(sample_from_json(probe.lines.front()));
            heard = std::chrono::steady_clock::now();
        }
        if (!probe.running())
            return report(
                fmt::format("voltpile-probe ended with exit code {}: {}", probe.exit_code(), probe.errors),
                false);
        if (seconds_since(heard) > patience.count())
            report(fmt::format("the NVIDIA driver hangs: no answer in {:.3g} s", patience.count()), true);
    }
} catch (const Error& error) {
    report(error.what(), false);
}

void NodeWatch::add(NodeSample sample) {
    look_(sample);
    std::lock_guard lock(mutex_);
    fresh_.push_back(sample);
    if (fresh_.size() > kKept) fresh_.pop_front();
    latest_ = std::move(sample);
    begun_ = true;
    changed_.notify_all();
}

void NodeWatch::report(std::string problem, bool hung) {
    NodeSample none;
    none.gpus.problem = std::move(problem);
    none.gpus.hung = hung;
    look_(none);
    std::lock_guard lock(mutex_);
    latest_ = std::move(none);
    begun_ = true;
    changed_.notify_all();
}

NodeSample NodeWatch::latest() const {
    std::lock_guard lock(mutex_);
    return latest_;
}

void NodeWatch::await_first(std::chrono::milliseconds deadline) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, deadline, [this] { return begun_; });
}

std::vector<NodeSample> NodeWatch::take() {
    std::lock_guard lock(mutex_);
    std::vector<NodeSample> samples(std::make_move_iterator(fresh_.begin()),
                                    std::make_move_iterator(fresh_.end()));
    fresh_.clear();
    return samples;
}

}  // namespace voltpile
