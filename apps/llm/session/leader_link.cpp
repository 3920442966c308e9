#include "llm/session/leader_link.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "comm/mpi/message_tags.h"
#include "comm/mpi/outbox.h"

namespace voltpile::llm {
namespace {

using Clock = std::chrono::steady_clock;

// Between looks for orders. A replica with nothing to do looks less often.
constexpr std::chrono::microseconds order_tick{200}, idle_order_tick{1000};
constexpr std::chrono::milliseconds report_interval{50};  // between reports that have counters only
constexpr std::chrono::seconds alive_interval{1};         // between reports that say nothing new

}  // namespace

LeaderLink::LeaderLink(const Communicator& link, RequestQueue& engine)
    : link_(link), engine_(engine), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void LeaderLink::add(QueueEvent event) {
    {
        const std::lock_guard lock(mutex_);
        events_.push_back(std::move(event));
    }
    changed_.notify_one();
}

void LeaderLink::tell_of_failing_engine() {
    {
        const std::lock_guard lock(mutex_);
        failing_ = true;
    }
    changed_.notify_one();
}

void LeaderLink::submit(const Request& request) {
    const auto on_delta = [this, id = request.id](const Delta& delta) {
        if (delta.tokens.empty() && delta.text.empty()) return true;
        QueueEvent event;
        event.id = id;
        event.text = delta.text;
        event.tokens.assign(delta.tokens.begin(), delta.tokens.end());
        event.log_probability.assign(delta.log_probability.begin(), delta.log_probability.end());
        event.top.assign(delta.top.begin(), delta.top.end());
        add(std::move(event));
        return true;
    };
    const auto on_end = [this](Outcome outcome) {
        if (outcome.engine_failed) return tell_of_failing_engine();  // the report of the failure ends it
        QueueEvent event;
        event.id = outcome.id;
        event.outcome = std::move(outcome);
        add(std::move(event));
    };
    try {
        engine_.submit(request, on_delta, on_end);
    } catch (const QueueClosed&) {
        // The engine has failed (orders to close come last), so the report ends this request too.
        tell_of_failing_engine();
    } catch (const std::exception& error) {
        Outcome outcome;
        outcome.id = request.id;
        outcome.finish = Finish::Failed;
        outcome.error = error.what();
        on_end(std::move(outcome));
    }
}

void LeaderLink::obey(const QueueOrder& order) {
    switch (order.kind) {
        case QueueOrder::Kind::Submit:
            return submit(order.request);
        case QueueOrder::Kind::Cancel:
            return engine_.cancel(order.request.id);
        case QueueOrder::Kind::Close:
            return engine_.close();
    }
}

void LeaderLink::run(const std::stop_token& stop) {
    try {
        Outbox outbox(link_);
        EngineCounters reported;
        Clock::time_point reported_at;
        bool reported_failing = false;
        while (!stop.stop_requested()) {
            while (const auto message = link_.poll(kQueueOrderTag)) obey(order_from_bytes(message->bytes));
            QueueReport report;
            {
                const std::lock_guard lock(mutex_);
                report.last = finishing_;
                report.failing = failing_;
                report.failure = replica_failure_;
                report.events = std::exchange(events_, {});
            }
            report.counters = engine_.counters();
            const auto silent_for = Clock::now() - reported_at;
            const bool due = silent_for >= alive_interval || report.failing != reported_failing ||
                             (report.counters != reported && silent_for >= report_interval);
            if (due || report.last || !report.events.empty()) {
                outbox.send(0, kQueueReportTag, std::make_shared<const std::string>(to_bytes(report)));
                reported = report.counters;
                reported_at = Clock::now();
                reported_failing = report.failing;
            }
            if (report.last) return outbox.drain();
            const SchedulerCounters& now = report.counters.scheduler;
            const auto tick = now.running + now.waiting > 0 ? order_tick : idle_order_tick;
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, stop, tick,
                              [&] { return finishing_ || failing_ != reported_failing || !events_.empty(); });
        }
    } catch (...) {
        {
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
        }
        engine_.close();
    }
}

void LeaderLink::finish(std::optional<ReplicaFailure> failure) {
    {
        const std::lock_guard lock(mutex_);
        replica_failure_ = std::move(failure);
        finishing_ = true;
    }
    changed_.notify_one();
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace voltpile::llm
