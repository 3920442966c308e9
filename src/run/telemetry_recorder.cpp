#include "run/telemetry_recorder.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_name.h"
#include "comm/mpi/communicator.h"
#include "job/power_keys.h"
#include "machine/node_watch.h"

namespace voltpile {
namespace {

using std::chrono::steady_clock;

// A kill loses at most this much.
constexpr std::chrono::seconds kIncrement{10};
// A file grows until then, so that long jobs have few files and no file becomes large.
constexpr std::chrono::seconds kLongestFile{300};
constexpr std::size_t kLongestRows = 900;
// Between looks for what other hosts have sent.
constexpr std::chrono::seconds kLook{1};
// The end of a very short run waits this long for its first sample.
constexpr std::chrono::seconds kShortRun{3};
// A run without GPUs is worth it from here on.
constexpr std::chrono::seconds kLongRun{60};

bool uses_gpus(const Plan& plan) {
    return std::ranges::any_of(plan.ranks, [](const RankPlan& rank) { return rank.gpu >= 0; });
}

constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();

double or_nan(const std::optional<double>& value) {
    return value ? *value : kUnknownValue;
}

// Returns all GPUs of the samples. One that falls off the bus, or all while the driver hangs, have no values.
std::vector<std::string> gpus_in(const std::vector<NodeSample>& samples) {
    std::vector<std::string> gpus;
    for (const NodeSample& sample : samples)
        for (const GpuSnapshot& gpu : sample.gpus.gpus)
            if (!gpu.bus_id.empty() && std::ranges::find(gpus, gpu.bus_id) == gpus.end())
                gpus.push_back(gpu.bus_id);
    return gpus;
}

// Whether the node has GPUs, as far as these samples tell: a driver that hangs has some.
bool has_gpus(const std::vector<NodeSample>& samples) {
    return std::ranges::any_of(samples, [](const NodeSample& each) {
        return each.gpus.hung || std::ranges::any_of(each.gpus.gpus, [](const GpuSnapshot& gpu) {
                   return !gpu.bus_id.empty();
               });
    });
}

// had_gpus: earlier samples of this node have GPUs, or its driver hung.
NodeTelemetry node_telemetry(const std::vector<NodeSample>& samples, bool had_gpus) {
    NodeTelemetry node;
    node.host = host_name();
    for (const NodeSample& sample : samples) node.times_s.push_back(sample.time_s);
    for (const HostNumber& number : kHostNumbers) {
        TelemetryColumn column{std::string(number.name), number.unit, "", {}};
        for (const NodeSample& sample : samples) column.values.push_back(or_nan(sample.host.*number.member));
        const auto known = [](double value) { return !std::isnan(value); };
        if (std::ranges::any_of(column.values, known)) node.columns.push_back(std::move(column));
    }
    const std::vector<std::string> gpus = gpus_in(samples);
    if (had_gpus || has_gpus(samples)) {
        TelemetryColumn& known = node.columns.emplace_back(TelemetryColumn{"gpus_known", "1", "", {}});
        for (const NodeSample& sample : samples) known.values.push_back(sample.gpus.problem.empty());
    }
    for (const std::string& bus_id : gpus)
        for (const GpuNumber& number : kGpuNumbers) {
            if (number.pace == GpuPace::Setting) continue;
            TelemetryColumn column{std::string(number.name), number.unit, bus_id, {}};
            bool known = false;
            for (const NodeSample& sample : samples) {
                const GpuSnapshot* now = sample.gpus.find(bus_id);
                const double value = now ? or_nan(now->*number.member) : kUnknownValue;
                known = known || !std::isnan(value);
                column.values.push_back(value);
            }
            if (known) node.columns.push_back(std::move(column));
        }
    return node;
}

}  // namespace

TelemetryRequest telemetry_request(const JobSpec& job) {
    TelemetryRequest request;
    request.record = job.text("telemetry.record");
    request.every_s = job.real("telemetry.every_s");
    request.port = static_cast<int>(job.integer("telemetry.port"));
    request.host = job.text("telemetry.host");
    return request;
}

std::unique_ptr<NodeMonitor> start_monitor(const Communicator& world, const JobSpec& job) {
    if (power_request(job).limits_supply()) return std::make_unique<NodeMonitor>(world, kFastestSampling);
    if (job.text("telemetry.record") == "no") return nullptr;
    const int every_ms = static_cast<int>(1000 * job.real("telemetry.every_s"));
    return std::make_unique<NodeMonitor>(world, std::chrono::milliseconds(every_ms));
}

TelemetryRecorder::TelemetryRecorder(const Communicator& world, const Plan& plan,
                                     const TelemetryRequest& request, const Life* life, NodeMonitor* monitor,
                                     PowerGuard* guard)
    : world_(world),
      every_s_(request.every_s),
      outlives_fence_(request.outlives_fence),
      begin_(steady_clock::now()) {
    if (life) life_ = *life;
    if (guard && guard->watches()) guard_ = guard;
    if (!monitor || request.record == "no") return;
    monitor_ = monitor;
    if (life) {
        shares_folder_ = world.broadcast(life->name, 0) == life->name;
        const std::vector<std::string> all = world.all_gather(shares_folder_ ? "yes" : "no");
        if (std::ranges::find(all, "no") != all.end()) link_.emplace(world);
    }
    watch_ = monitor_->watch();
    if (watch_) had_gpus_ = has_gpus(watch_->take());  // those of before
    only_long_ = request.record == "auto" && !uses_gpus(plan);
    next_write_ = begin_ + (only_long_ ? kLongRun : kIncrement);
}

void TelemetryRecorder::tick() {
    const auto now = steady_clock::now();
    if (link_ && world_.rank() == 0 && now >= next_look_) {
        next_look_ = now + kLook;
        use_link([this](TelemetryLink& link) {
            link.receive([this](int rank, const NodeTelemetry& piece) { add(rank, piece); });
        });
    }
    if (!watch_ || now < next_write_) return;
    next_write_ = now + kIncrement;
    store();
}

GpuPower TelemetryRecorder::finish() {
    if (!monitor_) return {};
    world_.wait_asleep([this] { tick(); });
    if (watch_ && !too_short()) {
        watch_->await_first(kShortRun);
        store();
    }
    if (link_) link_->finish([this](int rank, const NodeTelemetry& piece) { add(rank, piece); });
    const std::vector<NodeTelemetry> nodes = gather();
    return world_.rank() == 0 ? gpu_power(nodes) : GpuPower{};
}

// Returns, on rank 0, all samples of this life, once every rank has stored its own.
std::vector<NodeTelemetry> TelemetryRecorder::gather() {
    if (!life_)
        for (auto& [rank, file] : files_) close(file);
    const std::vector<std::string> all = world_.all_gather(kept_);
    if (world_.rank() != 0) return {};
    if (life_) {
        std::vector<NodeTelemetry> nodes = read_telemetry(life_->parts);
        std::erase_if(nodes, [this](const NodeTelemetry& node) { return node.life != life_->name; });
        return nodes;
    }
    TelemetryPieces pieces;
    for (const std::string& texts : all)
        for (std::size_t at = 0; at < texts.size();) {
            const std::size_t end = texts.find('\0', at);
            if (auto piece = telemetry_from_csv(texts.substr(at, end - at))) pieces.add(std::move(*piece));
            at = end + 1;
        }
    return std::move(pieces).joined();
}

bool TelemetryRecorder::too_short() const {
    return only_long_ && steady_clock::now() - begin_ < kLongRun;
}

// Keeps the samples that are telemetry.every_s apart, and those at which the guard intervened. Returns
// the share of the time that the GPUs rest from each sample on, and their highest clock.
void TelemetryRecorder::note_interventions(std::vector<NodeSample>& samples, std::vector<double>& rests,
                                           std::vector<double>& clocks) {
    for (const PowerIntervention& each : guard_->take_interventions()) interventions_.push_back(each);
    const auto is_due = [&](const NodeSample& sample) {
        bool intervened = false;
        for (; !interventions_.empty() && interventions_.front().time_s <= sample.time_s;
             interventions_.pop_front()) {
            rest_ = interventions_.front().rest;
            clock_mhz_ = interventions_.front().clock_mhz;
            intervened = true;
        }
        constexpr double tolerance_s = 0.05;
        const bool early = sample.time_s >= kept_s_ && sample.time_s < kept_s_ + every_s_ - tolerance_s;
        if (!intervened && early) return false;
        kept_s_ = sample.time_s;
        rests.push_back(rest_);
        clocks.push_back(clock_mhz_ > 0 ? clock_mhz_ : kUnknownValue);
        return true;
    };
    std::erase_if(samples, [&](const NodeSample& sample) { return !is_due(sample); });
}

// A clock that is set back while the run lasts goes on from the last sample: energy is an integral over time.
void TelemetryRecorder::keep_ascending(std::vector<NodeSample>& samples) {
    for (NodeSample& sample : samples) {
        if (sample.time_s + set_back_s_ <= last_s_) set_back_s_ = last_s_ + every_s_ - sample.time_s;
        sample.time_s += set_back_s_;
        last_s_ = sample.time_s;
    }
}

// Returns what is new; nothing if there is nothing.
std::optional<NodeTelemetry> TelemetryRecorder::take_samples() {
    std::vector<NodeSample> samples = watch_->take();
    for (const NodeSample& sample : samples)
        if (sample.gpus.hung && !std::exchange(said_hung_, true) && !guard_)  // the guard says so
            spdlog::warn("telemetry: {}: {}; only the host is sampled from then on", host_name(),
                         sample.gpus.problem);
    std::vector<double> rests, clocks;
    if (guard_) note_interventions(samples, rests, clocks);
    if (samples.empty()) return std::nullopt;
    keep_ascending(samples);
    NodeTelemetry node = node_telemetry(samples, had_gpus_);
    had_gpus_ = had_gpus_ || has_gpus(samples);
    if (guard_) node.columns.push_back({"gpu_rest", "1", "", std::move(rests)});
    if (guard_ && guard_->lowers_clocks())
        node.columns.push_back({"gpu_clock_limit_mhz", "MHz", "", std::move(clocks)});
    if (!life_)
        std::erase_if(node.columns,
                      [](const TelemetryColumn& column) { return !says_gpu_power(column.name); });
    return node;
}

// Keeps what is new where it is safe: in rank 0's part folder.
void TelemetryRecorder::store() {
    const auto piece = take_samples();
    if (!piece) return;
    if (link_ && !shares_folder_)
        use_link([&](TelemetryLink& link) { link.send(*piece); });
    else
        add(world_.rank(), *piece);
}

// A server goes on after it has lost ranks.
void TelemetryRecorder::use_link(const std::function<void(TelemetryLink&)>& use) {
    if (link_failed_) return;
    try {
        use(*link_);
    } catch (const CommError& error) {
        link_failed_ = true;
        spdlog::warn("telemetry: {}; that of hosts with disks of their own is lost from now on",
                     error.what());
    }
}

void TelemetryRecorder::add(int rank, const NodeTelemetry& piece) {
    OpenFile& file = files_[rank];
    file.csv.add(piece);
    if (life_) commit(rank, file);
    if (file.csv.rows() >= kLongestRows || steady_clock::now() - file.begin >= kLongestFile) close(file);
}

// Another file follows.
void TelemetryRecorder::close(OpenFile& file) {
    if (!life_ && file.csv.rows() > 0) kept_ += file.csv.text() + '\0';
    const int next = file.number + 1;
    file = {};
    file.number = next;
}

void TelemetryRecorder::commit(int rank, OpenFile& file) {
    try {
        write_telemetry_file(*life_, rank, file.number, file.csv.text());
    } catch (const FileError& error) {
        if (!outlives_fence_ && dynamic_cast<const TakenOverError*>(&error)) throw;
        if (!std::exchange(file.said_failure, true))
            spdlog::warn("{}; telemetry is lost while that lasts", error.what());
    }
}

}  // namespace voltpile
