#include "comm/channel/engine.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr auto spin = 50us;           // of the engine's thread, after the last movement
constexpr auto alone = 50us;          // a waiting thread keeps its core to itself for this long
constexpr auto shortest_nap = 100us;  // of the engine's thread while others do its work
constexpr auto longest_nap = 500us;
constexpr auto gpu_interval = 20us;  // between looks at the GPU
constexpr nanoseconds longest_sleep = 1s;
constexpr nanoseconds standstill = 3s;  // without a single look

}  // namespace

ChannelEngine::Lock::Lock(ChannelEngine& engine) : engine_(engine) {
    engine_.wanted_.fetch_add(1);
    lock_ = std::unique_lock(engine_.mutex_);
    engine_.wanted_.fetch_sub(1);
    if (engine_.work_.gpu() != nullptr) previous_device_ = engine_.work_.gpu()->enter();
}

ChannelEngine::Lock::~Lock() {
    if (engine_.work_.gpu() != nullptr) engine_.work_.gpu()->leave(previous_device_);
}

ChannelEngine::ChannelEngine(EngineWork& work, nanoseconds patience)
    : work_(work), patience_(patience), wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_fd_ < 0) throw CommError(fmt::format("eventfd: {}", std::strerror(errno)));
    // Signals belong to the application's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread(&ChannelEngine::run, this);
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        close(wake_fd_);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ChannelEngine::~ChannelEngine() {
    stop_thread();
    close(wake_fd_);
}

void ChannelEngine::stop_thread() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        asleep_ = true;  // or in a nap, which must end too
        changed();
    }
    thread_.join();
}

void ChannelEngine::changed() {
    moved_.notify_all();
    if (!asleep_) return;
    asleep_ = false;
    const std::uint64_t one = 1;
    // It fails only when the counter is full, and then the thread wakes up anyway.
    [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof one);
}

ChannelClock::time_point ChannelEngine::time() {
    const auto now = ChannelClock::now();
    if (last_time_ != ChannelClock::time_point{} && now - last_time_ > standstill)
        stood_still_ += now - last_time_;
    last_time_ = now;
    return now - stood_still_;
}

bool ChannelEngine::driven(ChannelClock::time_point now) const {
    return drivers_.load() > 0 || now - last_driven_ < shortest_nap;
}

bool ChannelEngine::sleep(nanoseconds limit, bool network_too) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timespec time{seconds.count(), static_cast<long>((limit - seconds).count())};
    pollfd fds[2] = {{wake_fd_, POLLIN, 0}, {work_.wake_fd(), POLLIN, 0}};
    const nfds_t count = network_too && fds[1].fd >= 0 ? 2 : 1;
    if (ppoll(fds, count, &time, nullptr) <= 0) return false;
    std::uint64_t woken = 0;
    [[maybe_unused]] const auto taken = read(wake_fd_, &woken, sizeof woken);
    return true;
}

void ChannelEngine::run() {
    pthread_setname_np(pthread_self(), "channels");
    prctl(PR_SET_TIMERSLACK, 1'000);  // naps last microseconds
    if (work_.gpu() != nullptr) work_.gpu()->adopt_thread();
    auto last_move = ChannelClock::now();
    nanoseconds nap = shortest_nap;  // grows while others move the transfers
    while (true) {
        while (wanted_.load() > 0) std::this_thread::yield();
        nanoseconds pause = nap;
        bool network_too = false;
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) return;
            const auto now = ChannelClock::now();
            nap = driven(now) ? std::min<nanoseconds>(2 * nap, longest_nap) : shortest_nap;
            if (!driven(now)) {
                if (work_.progress(time())) {
                    last_move = now;
                    moved_.notify_all();
                    continue;
                }
                const EngineWork::Outlook outlook = work_.outlook(time());
                if (outlook.busy && now - last_move < spin) continue;
                if (!work_.arm()) continue;
                network_too = true;
                asleep_ = true;
                const nanoseconds until_next = outlook.next - time();
                pause = outlook.polls ? nanoseconds(gpu_interval)
                                      : std::clamp<nanoseconds>(until_next, gpu_interval, longest_sleep);
            }
        }
        const bool woken = sleep(pause, network_too);
        const std::lock_guard lock(mutex_);
        asleep_ = false;
        if (woken) last_move = ChannelClock::now();  // more may follow soon
    }
}

void ChannelEngine::wait(const std::function<bool()>& met) {
    drivers_.fetch_add(1);
    auto last_move = ChannelClock::now();
    auto now = last_move;
    while (now - last_move <= patience_) {
        while (wanted_.load() > 0) std::this_thread::yield();
        {
            const Lock lock(*this);
            now = last_driven_ = ChannelClock::now();
            bool done = met();
            if (!done && work_.progress(time())) {
                last_move = now;
                moved_.notify_all();
                done = met();
            }
            if (done) {
                drivers_.fetch_sub(1);
                return;
            }
        }
        if (now - last_move > alone) std::this_thread::yield();
    }
    Lock lock(*this);
    drivers_.fetch_sub(1);
    last_driven_ = {};
    changed();
    while (!met()) moved_.wait_for(lock.lock_, 50ms);
}

}  // namespace voltpile
