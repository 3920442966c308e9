#include "llm/serve/gpu_reports.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/message_bytes.h"
#include "comm/mpi/message_tags.h"

namespace voltpile::llm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look{50};    // between looks for messages
constexpr std::chrono::seconds last_reports{3};  // at the end, for readers that still read
constexpr const char* kReadOrder = "read";
constexpr const char* kEndOrder = "end";

// By host: the lowest of its ranks that has a GPU.
std::map<std::string, int> readers_of(const std::vector<RankGpu>& gpus) {
    std::map<std::string, int> readers;
    for (const RankGpu& gpu : gpus) readers.emplace(gpu.host, gpu.rank);
    return readers;
}

std::string state_bytes(const std::vector<RankGpu>& gpus, const std::string& host) {
    MessageWriter to;
    for (const RankGpu& gpu : gpus) {
        if (gpu.host == host) to.value(gpu.now);
    }
    return to.take();
}

void set_state_from_bytes(std::vector<RankGpu>& gpus, const std::string& host, const std::string& bytes) {
    MessageReader from(bytes, "a report of GPUs");
    for (RankGpu& gpu : gpus) {
        if (gpu.host == host) gpu.now = from.value<GpuState>();
    }
}

}  // namespace

GpuReports::GpuReports(const Communicator& world, std::vector<RankGpu> gpus, Read read)
    : read_(std::move(read)), gpus_(std::move(gpus)) {
    if (gpus_.empty()) return;
    std::vector<int> members{0};
    for (const auto& [host, rank] : readers_of(gpus_)) {
        if (rank == world.rank()) host_ = host;
        if (rank != 0) members.push_back(rank);
    }
    std::ranges::sort(members);
    for (const auto& [host, rank] : readers_of(gpus_))
        if (rank != 0)
            reporters_.push_back(
                {static_cast<int>(std::ranges::find(members, rank) - members.begin()), host});
    const bool member = std::ranges::find(members, world.rank()) != members.end();
    if (members.size() > 1) {
        link_.emplace(world.split(member ? 0 : 1));
        link_->set_own_thread();
    }
    if (!member) {
        link_.reset();
        return;
    }
    thread_ = std::jthread([this, first = world.rank() == 0](const std::stop_token& stop) {
        try {
            first ? collect(stop) : report(stop);
        } catch (const std::exception& error) {  // a server goes on without these readings
            spdlog::warn("no further readings of GPUs: {}", error.what());
        }
        end_waits();
    });
}

GpuReports::~GpuReports() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    if (!finished_ && link_) link_->abandon();
}

void GpuReports::with_latest(Use use) {
    std::unique_lock lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (now - std::exchange(asked_at_, now) >= interest) {  // nobody has read them meanwhile
        for (RankGpu& gpu : gpus_) gpu.now = {};
        old_ = true;
        asked_all_ = false;
        give_up_at_ = now + patience;
    }
    changed_.notify_one();
    if (old_ && !no_waits_ && !gpus_.empty()) return waiting_.push_back(std::move(use));
    const std::vector<RankGpu> gpus = gpus_;
    lock.unlock();
    use(gpus);
}

void GpuReports::end_waits() {
    const std::lock_guard lock(mutex_);
    no_waits_ = true;
    for (const Use& use : std::exchange(waiting_, {})) use(gpus_);
}

bool GpuReports::all_reported() const {
    return !own_.valid() && std::ranges::none_of(reporters_, &Reporter::asked);
}

void GpuReports::answer_waiting() {
    const std::lock_guard lock(mutex_);
    if (!old_ || ((!asked_all_ || !all_reported()) && Clock::now() < give_up_at_)) return;
    old_ = false;
    for (const Use& use : std::exchange(waiting_, {})) use(gpus_);
}

void GpuReports::finish() {
    if (!thread_.joinable()) return;
    if (!link_ || link_->rank() == 0) thread_.request_stop();
    thread_.join();
    finished_ = true;
}

NodeGpus GpuReports::read_and_warn() {
    NodeGpus node = read_();
    if (!node.problem.empty() && !std::exchange(warned_, true))
        spdlog::warn("{}: no power, temperature and memory of its GPUs: {}", host_, node.problem);
    return node;
}

void GpuReports::collect(const std::stop_token& stop) {
    const auto wanted = [this] { return Clock::now() - asked_at_ < interest; };
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, wanted) && !stop.stop_requested()) {
        lock.unlock();
        const auto next = Clock::now() + period;
        ask_and_read();
        while (Clock::now() < next && !stop.stop_requested()) {
            take_reports();
            answer_waiting();
            const bool all = all_reported();
            lock.lock();
            changed_.wait_until(lock, stop, all ? next : Clock::now() + look, [] { return false; });
            lock.unlock();
        }
        lock.lock();
    }
    lock.unlock();
    end_reporters();
}

void GpuReports::ask_and_read() {
    for (Reporter& each : reporters_)
        if (!std::exchange(each.asked, true)) link_->send(each.member, kGpuOrderTag, kReadOrder);
    // On a thread of its own, because a driver may hang.
    if (!host_.empty() && !own_.valid())
        own_ = std::async(std::launch::async, [this] { return read_and_warn(); });
    const std::lock_guard lock(mutex_);
    asked_all_ = true;
}

void GpuReports::take_reports() {
    if (own_.valid() && own_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
        const NodeGpus node = own_.get();
        const std::lock_guard lock(mutex_);
        set_state(gpus_, host_, node);
    }
    if (!link_) return;
    while (const auto message = link_->poll(kGpuReportTag)) {
        const auto from = std::ranges::find(reporters_, message->from, &Reporter::member);
        from->asked = false;
        const std::lock_guard lock(mutex_);
        set_state_from_bytes(gpus_, from->host, message->bytes);
    }
}

void GpuReports::end_reporters() {
    for (const Reporter& each : reporters_) link_->send(each.member, kGpuOrderTag, kEndOrder);
    const auto begin = Clock::now();
    while (std::ranges::any_of(reporters_, &Reporter::asked) && Clock::now() - begin < last_reports) {
        take_reports();
        std::this_thread::sleep_for(look);
    }
}

void GpuReports::report(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        if (const auto order = link_->poll(kGpuOrderTag)) {
            if (order->bytes == kEndOrder) return;
            set_state(gpus_, host_, read_and_warn());
            link_->send(0, kGpuReportTag, state_bytes(gpus_, host_));
        } else {
            never.wait_for(lock, stop, look, [] { return false; });
        }
    }
}

}  // namespace voltpile::llm
