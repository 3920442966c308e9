#include "llm/session/shared_queue.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "comm/mpi/message_tags.h"
#include "comm/mpi/outbox.h"

namespace voltpile::llm {
namespace {

// Between looks for reports, while other ranks have requests and while they have none.
constexpr std::chrono::microseconds report_tick{200}, idle_report_tick{50'000};

}  // namespace

SharedQueue::SharedQueue(const Communicator& link, SharedQueueSettings settings)
    : link_(link),
      settings_(std::move(settings)),
      choice_(static_cast<int>(settings_.leaders.size())),
      replicas_(settings_.leaders.size()) {
    for (int replica = 0; replica < std::ssize(replicas_); ++replica) at(replica).last = is_local(replica);
    if (!all_last()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SharedQueue::~SharedQueue() = default;

void SharedQueue::add(Request request, OnDelta on_delta, OnEnd on_end) {
    check_request(request, settings_.requests, settings_.text);
    const std::int64_t id = request.id;
    const auto route = std::make_shared<Route>();
    route->prompt = request.prompt;
    route->on_delta = std::move(on_delta);
    route->on_end = std::move(on_end);
    {
        const std::lock_guard lock(mutex_);
        if (closed_) throw QueueClosed();
        if (!routes_.emplace(id, route).second)
            throw std::invalid_argument(fmt::format("the request id {} is already in use", id));
        route->replica = choice_.choose(request.prompt);
        remote_ += is_local(route->replica) ? 0 : 1;
        ++unfinished_;
    }
    try {
        if (!is_local(route->replica)) return send(std::move(request), route);
        OnDelta on_local_delta;
        if (route->on_delta) on_local_delta = [route](const Delta& delta) { return tell(*route, delta); };
        const auto on_local_end = [this, id, replica = route->replica](Outcome outcome) {
            if (!outcome.engine_failed) return end(id, std::move(outcome));
            const std::lock_guard lock(mutex_);
            choice_.avoid(replica);  // lose() will end it
        };
        settings_.engine->submit(std::move(request), std::move(on_local_delta), on_local_end);
    } catch (const QueueClosed&) {
        const std::lock_guard lock(mutex_);
        if (closed_ && withdraw(id)) throw;
        choice_.avoid(route->replica);  // the engine has failed, and lose() will end the request
    } catch (...) {
        const std::lock_guard lock(mutex_);
        if (withdraw(id)) throw;
    }
}

void SharedQueue::send(Request request, const RoutePtr& route) {
    if (request.grammar) grammar_checks_.check(*request.grammar);  // here, as an engine would
    {
        const std::lock_guard lock(mutex_);
        if (closed_) throw QueueClosed();
        if (!at(route->replica).works) return;
        order(route->replica, {QueueOrder::Kind::Submit, std::move(request)});
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
        for (int replica = 0; replica < std::ssize(replicas_); ++replica) {
            if (is_local(replica))
                settings_.engine->close();
            else
                order(replica, {QueueOrder::Kind::Close, {}});
        }
    }
    changed_.notify_one();
}

EngineCounters SharedQueue::counters_of(int replica) const {
    const Replica& each = replicas_[static_cast<std::size_t>(replica)];
    return is_local(replica) && each.works ? settings_.engine->counters() : each.counters;
}

std::vector<ReplicaState> SharedQueue::replicas() const {
    const std::lock_guard lock(mutex_);
    std::vector<ReplicaState> states;
    states.reserve(replicas_.size());
    for (int replica = 0; replica < std::ssize(replicas_); ++replica)
        states.push_back({counters_of(replica), replicas_[static_cast<std::size_t>(replica)].works});
    return states;
}

EngineCounters SharedQueue::counters() const {
    return sum_of(replicas());
}

bool SharedQueue::idle() const {
    const std::lock_guard lock(mutex_);
    return unfinished_ == 0;
}

bool SharedQueue::lost_any() const {
    const std::lock_guard lock(mutex_);
    return !std::ranges::all_of(replicas_, &Replica::works);
}

std::optional<ReplicaFailure> SharedQueue::no_replica_left() const {
    const std::lock_guard lock(mutex_);
    return no_replica_left_;
}

bool SharedQueue::all_last() const {
    return std::ranges::all_of(replicas_, &Replica::last);
}

void SharedQueue::order(int replica, const QueueOrder& order) {
    if (at(replica).works) orders_.emplace_back(replica, to_bytes(order));
}

void SharedQueue::order_cancel(int replica, std::int64_t id) {
    QueueOrder cancel{QueueOrder::Kind::Cancel, {}};
    cancel.request.id = id;
    order(replica, cancel);
}

// Returns nullptr if the request has ended already. answer: its tokens, which the replica has in its cache.
SharedQueue::RoutePtr SharedQueue::extract(std::int64_t id, std::span<const std::int32_t> answer) {
    auto node = routes_.extract(id);
    if (node.empty()) return nullptr;
    RoutePtr route = std::move(node.mapped());
    if (!answer.empty()) route->prompt.insert(route->prompt.end(), answer.begin(), answer.end());
    choice_.ended(route->replica, route->prompt);
    remote_ -= is_local(route->replica) ? 0 : 1;
    return route;
}

// Forgets a request that could not be submitted. False if it has ended because its replica was lost
// meanwhile.
bool SharedQueue::withdraw(std::int64_t id) {
    if (!extract(id)) return false;
    --unfinished_;
    return true;
}

void SharedQueue::end(std::int64_t id, Outcome outcome) {
    RoutePtr route;
    {
        const std::lock_guard lock(mutex_);
        route = extract(id, outcome.tokens);
    }
    if (!route) return;  // its replica was lost before
    if (route->thrown) fail(outcome, route->thrown);
    if (route->stopped && outcome.finish != Finish::Failed) outcome.finish = Finish::Stopped;
    finish_route(*route, std::move(outcome));
}

void SharedQueue::finish_route(Route& route, Outcome outcome) {
    {
        const std::lock_guard lock(route.mutex);
        route.ended = true;
        try {
            if (route.on_end) route.on_end(std::move(outcome));
        } catch (...) {
            // The request has ended anyway.
        }
    }
    const std::lock_guard lock(mutex_);
    --unfinished_;
}

bool SharedQueue::tell(Route& route, const Delta& delta) {
    const std::lock_guard lock(route.mutex);
    return !route.ended && route.on_delta(delta);
}

// Calls back. A request that its callback ends may have drawn a few more tokens on the other rank.
void SharedQueue::tell_of(const QueueEvent& event, Route& route) {
    if (!route.on_delta || route.stopped || route.thrown) return;
    try {
        route.stopped = !tell(route, {event.text, event.tokens, event.log_probability, event.top});
    } catch (...) {
        route.thrown = std::current_exception();
    }
    if (!route.stopped && !route.thrown) return;
    const std::lock_guard lock(mutex_);
    order_cancel(route.replica, event.id);
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
            for (auto& [replica, bytes] : orders)
                outbox.send(leader(replica).rank, kQueueOrderTag,
                            std::make_shared<const std::string>(std::move(bytes)));
            while (const auto message = link_.poll(kQueueReportTag)) {
                const auto from =
                    std::ranges::find(settings_.leaders, message->from, &SharedQueueSettings::Leader::rank);
                take(static_cast<int>(from - settings_.leaders.begin()), report_from_bytes(message->bytes));
            }
            lose_silent();
            std::unique_lock lock(mutex_);
            if (all_last()) return;
            const auto tick = remote_ > 0 || closed_ ? report_tick : idle_report_tick;
            changed_.wait_for(lock, stop, tick, [this] { return !orders_.empty(); });
        }
    } catch (const std::exception& error) {
        for (int replica = 0; replica < std::ssize(replicas_); ++replica)
            if (!is_local(replica)) lose(replica, {ExitCode::Failed, error.what()});
    }
}

void SharedQueue::take(int replica, QueueReport report) {
    for (QueueEvent& event : report.events) {
        if (event.outcome) {
            end(event.id, std::move(*event.outcome));
            continue;
        }
        RoutePtr route;
        {
            const std::lock_guard lock(mutex_);
            if (const auto found = routes_.find(event.id); found != routes_.end()) route = found->second;
        }
        if (route) tell_of(event, *route);
    }
    {
        const std::lock_guard lock(mutex_);
        if (at(replica).works) at(replica).counters = report.counters;
        at(replica).heard = Clock::now();
        if (report.last) at(replica).last = true;
        if (report.failing) choice_.avoid(replica);
    }
    if (report.failure) lose(replica, *report.failure);
}

void SharedQueue::lose_silent() {
    std::vector<int> silent;
    {
        const std::lock_guard lock(mutex_);
        for (int replica = 0; replica < std::ssize(replicas_); ++replica) {
            const Replica& each = at(replica);
            if (each.works && !each.last && each.heard && Clock::now() - *each.heard > settings_.silence)
                silent.push_back(replica);
        }
    }
    for (const int replica : silent)
        lose(replica,
             {ExitCode::Failed, fmt::format("{} has been silent for {} s", leader(replica).name,
                                            std::chrono::duration<double>(settings_.silence).count())});
}

void SharedQueue::lose(int replica, const ReplicaFailure& failure) {
    Routes ended;
    std::ptrdiff_t left = 0;
    {
        const std::lock_guard lock(mutex_);
        if (!at(replica).works) return;
        ended = take_out(replica);
        left = std::ranges::count(replicas_, true, &Replica::works);
        if (left == 0) {
            closed_ = true;
            no_replica_left_ = failure;
            if (replicas_.size() > 1)
                no_replica_left_->why =
                    fmt::format("replica {} has failed: {}; no replica is left", replica, failure.why);
        }
    }
    if (left > 0)
        spdlog::error("replica {} has failed: {}; {} of {} replicas are left", replica, failure.why, left,
                      replicas_.size());
    end_lost(ended, failure);
}

void SharedQueue::lose_all(const ReplicaFailure& failure) {
    Routes ended;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        no_replica_left_ = failure;
        for (int replica = 0; replica < std::ssize(replicas_); ++replica)
            if (at(replica).works) std::ranges::move(take_out(replica), std::back_inserter(ended));
    }
    end_lost(ended, failure);
}

// Ends a replica's part in everything, and returns its requests. With the mutex locked.
SharedQueue::Routes SharedQueue::take_out(int replica) {
    Replica& lost = at(replica);
    lost.counters = counters_of(replica);
    SchedulerCounters& now = lost.counters.scheduler;
    now.running = now.generating = now.waiting = now.pages_in_use = 0;
    lost.works = false;
    lost.last = true;
    choice_.exclude(replica);
    std::erase_if(orders_, [&](const auto& each) { return each.first == replica; });
    Routes ended;
    for (const auto& each : routes_)
        if (each.second->replica == replica) ended.emplace_back(each);
    for (const auto& each : ended) extract(each.first);
    return ended;
}

void SharedQueue::end_lost(const Routes& routes, const ReplicaFailure& failure) {
    for (const auto& [id, route] : routes) {
        Outcome outcome;
        outcome.id = id;
        outcome.finish = Finish::Failed;
        outcome.error = failure.why;
        finish_route(*route, std::move(outcome));
    }
    changed_.notify_one();
}

void SharedQueue::finish() {
    if (thread_.joinable()) thread_.join();
}

}  // namespace voltpile::llm
