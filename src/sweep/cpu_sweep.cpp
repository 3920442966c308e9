#include "sweep/cpu_sweep.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "base/bind_thread.h"
#include "base/phase.h"

namespace voltpile {

namespace {

using Clock = std::chrono::steady_clock;

// Points that a thread draws at once, while they last less than this: a draw costs as much as some iterations
// of a map. Few, because no other thread can help with them.
constexpr std::size_t kMostDrawn = 32;
constexpr auto kShortest = std::chrono::microseconds(100);

// A thread's view of the feed, which also counts its work and time.
class ThreadStream : public PointStream {
  public:
    ThreadStream(PointFeed& feed, WorkScheduler& work, std::size_t threads)
        : feed_(feed), work_(work), threads_(static_cast<double>(threads)) {}

    void begin() { last_ = Clock::now(); }

    bool draw(Ticket& ticket) override {
        if (next_ == drawn_ && !draw_more()) return false;
        ticket = tickets_[next_++];
        return true;
    }

    void finish(const Ticket& ticket, const void* outcome) override { feed_.finish(ticket, outcome); }

    bool report(double units) override {
        count_step(Phase::Compute);
        const auto now = Clock::now();
        work_.add_units(units);
        work_.add_busy(std::chrono::duration<double>(now - last_).count() / threads_);
        last_ = now;
        return !feed_.stopped();
    }

  private:
    bool draw_more() {
        const auto now = Clock::now();
        most_ = now - drew_ < kShortest ? std::min(2 * most_, kMostDrawn) : 1;
        drew_ = now;
        next_ = 0;
        drawn_ = feed_.draw({tickets_.data(), most_});
        return drawn_ > 0;
    }

    PointFeed& feed_;
    WorkScheduler& work_;
    const double threads_;
    Clock::time_point last_;
    std::array<Ticket, kMostDrawn> tickets_;
    std::size_t next_ = 0, drawn_ = 0;  // in tickets_
    std::size_t most_ = 1;
    Clock::time_point drew_;
};

}  // namespace

void sweep_on_cpu(const SweepPoints& sweep, const std::vector<OutcomeField>& fields,
                  const std::vector<int>& pus, WorkScheduler& work, const SubmitRange& submit) {
    PointFeed feed(work, fields, submit);
    std::mutex failure_mutex;
    std::exception_ptr failure;

    const auto run = [&](int pu) {
        try {
            bind_this_thread(pu);
            ThreadStream stream(feed, work, pus.size());
            while (feed.wait()) {
                const InPhase computing(Phase::Compute);
                stream.begin();
                sweep(stream);
            }
        } catch (...) {
            feed.stop();
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (const int pu : pus) threads.emplace_back(run, pu);
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace voltpile
