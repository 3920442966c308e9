#include "machine/node_watch.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/line_process.h"
#include "base/seconds_since.h"
#include "base/unix_time.h"
#include "machine/node_json.h"
#include "machine/probe.h"

namespace voltpile {
namespace {

constexpr std::size_t kKept = 1000;
constexpr std::chrono::milliseconds kPatrol{200};
// How often the host is sampled, at most, and while there are no samples of GPUs.
constexpr std::chrono::milliseconds kHostPeriod{1000};
// After this time without an answer of the driver the host is sampled alone.
constexpr std::chrono::seconds kSilence{5};
constexpr const char* kNotSampled = "not sampled yet";

}  // namespace

NodeWatch::NodeWatch(std::chrono::milliseconds every, std::function<void(const NodeSample&)> look)
    : every_(std::max(every, kFastestSampling)), look_(std::move(look)), wake_(eventfd(0, EFD_CLOEXEC)) {
    latest_.gpus.problem = kNotSampled;
    thread_ = std::thread([this] { read_loop(); });
}

NodeWatch::~NodeWatch() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
        changed_.notify_all();
    }
    const std::uint64_t one = 1;
    (void)!write(wake_, &one, sizeof one);
    thread_.join();
    close(wake_);
}

void NodeWatch::read_loop() {
    meter_.read();  // rates begin here
    NodeGpus none;
    try {
        none.problem = follow_probe();
    } catch (const Error& error) {
        none.problem = error.what();
    }
    while (!closing()) {
        add_host_alone(none, true);
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::max(every_, kHostPeriod), [this] { return closing_; });
    }
}

// Returns why there are no more samples of GPUs. The thread that starts the process also ends it: the kernel
// ends the process with its thread.
std::string NodeWatch::follow_probe() {
    LineProcess probe({probe_program().string(), "--every", fmt::format("{}", every_.count())});
    const auto patience =
        std::chrono::duration<double>(std::max<std::chrono::milliseconds>(kProbeDeadline, 5 * every_));
    const auto silence =
        std::chrono::duration<double>(std::max<std::chrono::milliseconds>(kSilence, 3 * every_));
    auto heard = std::chrono::steady_clock::now();
    NodeGpus none;
    none.problem = kNotSampled;
    NodeSample read;  // by the lines so far
    for (;;) {
        std::array<LineProcess*, 1> processes{&probe};
        LineProcess::pump(processes, kPatrol, kPatrol, wake_);
        if (closing()) return "";
        for (; !probe.lines.empty(); probe.lines.pop_front()) {
            update_from_json(probe.lines.front(), read);
            NodeSample sample = read;
            sample.host = host();
            add(std::move(sample), true);
            heard = std::chrono::steady_clock::now();
            none = {};
            none.problem = "the NVIDIA driver does not answer";
        }
        if (!probe.running())
            return fmt::format("voltpile-probe ended with exit code {}: {}", probe.exit_code(), probe.errors);
        if (seconds_since(heard) > patience.count()) {
            none.problem = fmt::format("the NVIDIA driver hangs: no answer in {:.3g} s", patience.count());
            none.hung = true;
        }
        if (seconds_since(heard) > silence.count() && host_is_due()) {
            if (none.problem == kNotSampled) none.problem = "the NVIDIA driver has not answered yet";
            add_host_alone(none, none.hung);
        }
    }
}

bool NodeWatch::closing() const {
    const std::lock_guard lock(mutex_);
    return closing_;
}

bool NodeWatch::host_is_due() const {
    constexpr std::chrono::milliseconds early{100};  // so that each sample a second apart is due
    const std::chrono::duration<double> period = std::max(every_, kHostPeriod) - early;
    return !host_at_ || seconds_since(*host_at_) >= period.count();
}

HostReading NodeWatch::host() {
    if (host_is_due()) {
        host_ = meter_.read();
        host_at_ = std::chrono::steady_clock::now();
    }
    return host_;
}

void NodeWatch::add_host_alone(const NodeGpus& none, bool begun) {
    NodeSample sample;
    sample.time_s = unix_time();
    sample.host = host();
    sample.gpus = none;
    add(std::move(sample), begun);
}

void NodeWatch::add(NodeSample sample, bool begun) {
    look_(sample);
    std::lock_guard lock(mutex_);
    fresh_.push_back(sample);
    if (fresh_.size() > kKept) fresh_.pop_front();
    for (GpuSnapshot& gpu : sample.gpus.gpus)
        if (const GpuSnapshot* before = gpu.energy_j ? nullptr : latest_.gpus.find(gpu.bus_id))
            gpu.energy_j = before->energy_j;
    latest_ = std::move(sample);
    begun_ = begun_ || begun;
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
