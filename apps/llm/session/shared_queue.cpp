#include "llm/session/shared_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <utility>

#include "comm/mpi/message_tags.h"
#include "comm/mpi/outbox.h"

namespace voltpile::llm {
namespace {

// Between looks for reports, while other ranks have requests and while they have none.
constexpr std::chrono::microseconds report_tick{200}, idle_report_tick{50'000};

void add_to(EngineCounters& sum, const EngineCounters& one) {
    sum.scheduler.running += one.scheduler.running;
    sum.scheduler.generating += one.scheduler.generating;
    sum.scheduler.waiting += one.scheduler.waiting;
    sum.scheduler.pages_in_use += one.scheduler.pages_in_use;
    sum.scheduler.pages += one.scheduler.pages;
    sum.scheduler.prompt_rows += one.scheduler.prompt_rows;
    sum.scheduler.shared_tokens += one.scheduler.shared_tokens;
    sum.scheduler.preemptions += one.scheduler.preemptions;
    sum.requests += one.requests;
    sum.failed += one.failed;
    sum.cancelled += one.cancelled;
    sum.tokens_in += one.tokens_in;
    sum.tokens_out += one.tokens_out;
    sum.passes += one.passes;
    sum.sequences += one.sequences;
    sum.largest_batch = std::max(sum.largest_batch, one.largest_batch);
    sum.page_passes += one.page_passes;
    sum.waited_seconds += one.waited_seconds;
    sum.busy_seconds += one.busy_seconds;
}

}  // namespace

SharedQueue::SharedQueue(const Communicator& link, SharedQueueSettings settings)
    : link_(link),
      settings_(std::move(settings)),
      choice_(static_cast<int>(settings_.leaders.size())),
      counters_(settings_.leaders.size()) {
    for (const int leader : settings_.leaders) last_.push_back(leader == 0);
    if (!std::ranges::all_of(last_, std::identity()))
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SharedQueue::~SharedQueue() = default;

void SharedQueue::add(Request request, OnDelta on_delta, OnEnd on_end) {
    check_request(request, settings_.requests, settings_.text);
    const std::int64_t id = request.id;
    {
        const std::lock_guard lock(mutex_);
        if (closed_) throw QueueClosed();
        const auto [place, is_new] = routes_.try_emplace(id);
        if (!is_new) throw std::invalid_argument(fmt::format("the request id {} is already in use", id));
        place->second = std::make_unique<Route>();
        Route& route = *place->second;
        route.replica = choice_.choose(request.prompt);
        route.on_end = std::move(on_end);
        if (is_local(route.replica)) {
            try {
                settings_.engine->submit(std::move(request), std::move(on_delta),
                                         [this, id](Outcome outcome) { end(id, std::move(outcome)); });
            } catch (...) {
                choice_.ended(route.replica);
                routes_.erase(place);
                throw;
            }
            return;
        }
        try {
            if (request.grammar) check_grammar(*request.grammar);  // here, as an engine would
        } catch (...) {
            choice_.ended(route.replica);
            routes_.erase(place);
            throw;
        }
        route.on_delta = std::move(on_delta);
        ++remote_;
        order(route.replica, {QueueOrder::Kind::Submit, std::move(request)});
    }
    changed_.notify_one();
}

void SharedQueue::cancel(std::int64_t id) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = routes_.find(id);
        if (found == routes_.end()) return;
        if (is_local(found->second->replica)) return settings_.engine->cancel(id);
        order_cancel(found->second->replica, id);
    }
    changed_.notify_one();
}

void SharedQueue::close() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(closed_, true)) return;
        for (int replica = 0; replica < std::ssize(settings_.leaders); ++replica) {
            if (is_local(replica))
                settings_.engine->close();
            else
                order(replica, {QueueOrder::Kind::Close, {}});
        }
    }
    changed_.notify_one();
}

std::vector<EngineCounters> SharedQueue::counters_of_replicas() const {
    const std::lock_guard lock(mutex_);
    std::vector<EngineCounters> all = counters_;
    for (std::size_t replica = 0; replica < all.size(); ++replica)
        if (settings_.leaders[replica] == 0) all[replica] = settings_.engine->counters();
    return all;
}

EngineCounters SharedQueue::counters() const {
    EngineCounters sum;
    for (const EngineCounters& each : counters_of_replicas()) add_to(sum, each);
    return sum;
}

void SharedQueue::order(int replica, const QueueOrder& order) {
    orders_.emplace_back(settings_.leaders[static_cast<std::size_t>(replica)], to_bytes(order));
}

void SharedQueue::order_cancel(int replica, std::int64_t id) {
    QueueOrder cancel{QueueOrder::Kind::Cancel, {}};
    cancel.request.id = id;
    order(replica, cancel);
}

void SharedQueue::end(std::int64_t id, Outcome outcome) {
    std::unique_ptr<Route> route;
    {
        const std::lock_guard lock(mutex_);
        route = std::move(routes_.extract(id).mapped());
        choice_.ended(route->replica);
        if (!is_local(route->replica)) --remote_;
    }
    if (route->thrown) fail(outcome, route->thrown);
    if (route->stopped && outcome.finish != Finish::Failed) outcome.finish = Finish::Stopped;
    if (!route->on_end) return;
    try {
        route->on_end(std::move(outcome));
    } catch (...) {
        // The request has ended anyway.
    }
}

void SharedQueue::run(const std::stop_token& stop) {
    try {
        Outbox outbox(link_);
        while (!stop.stop_requested()) {
            std::deque<std::pair<int, std::string>> orders;
            {
                const std::lock_guard lock(mutex_);
                orders = std::exchange(orders_, {});
            }
            for (auto& [rank, bytes] : orders)
                outbox.send(rank, kQueueOrderTag, std::make_shared<const std::string>(std::move(bytes)));
            while (const auto message = link_.poll(kQueueReportTag)) {
                const auto leader = std::ranges::find(settings_.leaders, message->from);
                take(static_cast<int>(leader - settings_.leaders.begin()), report_from_bytes(message->bytes));
            }
            std::unique_lock lock(mutex_);
            if (std::ranges::all_of(last_, std::identity())) return;
            const auto tick = remote_ > 0 || closed_ ? report_tick : idle_report_tick;
            changed_.wait_for(lock, stop, tick, [this] { return !orders_.empty(); });
        }
    } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
    }
}

void SharedQueue::take(int replica, QueueReport report) {
    for (QueueEvent& event : report.events) {
        if (event.outcome) {
            end(event.id, std::move(*event.outcome));
            continue;
        }
        Route* route = nullptr;  // stays where it is until this thread ends the request
        {
            const std::lock_guard lock(mutex_);
            route = routes_.at(event.id).get();
        }
        tell(event, *route);
    }
    const std::lock_guard lock(mutex_);
    counters_[static_cast<std::size_t>(replica)] = report.counters;
    if (report.last) last_[static_cast<std::size_t>(replica)] = true;
}

// Calls back. A request that its callback ends may have drawn a few more tokens on the other rank.
void SharedQueue::tell(const QueueEvent& event, Route& route) {
    if (!route.on_delta || route.stopped || route.thrown) return;
    try {
        route.stopped = !route.on_delta({event.text, event.tokens, event.log_probability, event.top});
    } catch (...) {
        route.thrown = std::current_exception();
    }
    if (!route.stopped && !route.thrown) return;
    const std::lock_guard lock(mutex_);
    order_cancel(route.replica, event.id);
}

void SharedQueue::finish() {
    if (thread_.joinable()) thread_.join();
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace voltpile::llm
