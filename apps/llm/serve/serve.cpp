#include "llm/serve/serve.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/seconds_since.h"
#include "base/standard_streams.h"
#include "http/event_loop.h"
#include "llm/serve/address_file.h"
#include "llm/serve/page_routes.h"
#include "run/agreement.h"

namespace voltpile::llm {
namespace {

constexpr std::chrono::seconds last_bytes_time{5};      // for clients to take the ends of their answers
constexpr std::chrono::milliseconds hurried_time{400};  // the same if the launcher kills this rank soon
constexpr int look_ms = 100, drain_look_ms = 20;        // between looks whether it is time to end

struct StopTimes {
    double limit_s;  // of serving
    int grace_s;     // for requests to finish
};

// Finishes the requests that there are, for at most the grace period.
void finish_requests(StopSignals& signals, Api& api, SharedQueue& queue, int grace_s) {
    const int signals_before = signals.received();
    print_error(fmt::format("stopping: finishing requests for at most {} s; new ones are refused", grace_s));
    api.drain();
    queue.close();
    const auto begin = std::chrono::steady_clock::now();
    while (!queue.idle() && signals.received() <= signals_before && seconds_since(begin) < grace_s)
        signals.wait(drain_look_ms);
    api.cancel_all();
    while (!queue.idle() && !signals.launcher_ends_job()) {
        signals.wait(drain_look_ms);
        signals.received();
    }
}

void serve_until_stopped(StopSignals& signals, Api& api, SharedQueue& queue, StopTimes times) {
    const auto start = std::chrono::steady_clock::now();
    while (signals.received() < 1 && seconds_since(start) < times.limit_s && !queue.no_replica_left())
        signals.wait(look_ms);
    if (!signals.launcher_ends_job() && !queue.no_replica_left())
        finish_requests(signals, api, queue, times.grace_s);
    if (signals.launcher_ends_job()) {
        // Printed before clients get their errors: the launcher kills this rank soon, by Open MPI's default
        // after a second.
        const ReplicaFailure failure{ExitCode::Failed,
                                     "the launcher ends the job: a rank was lost, or it was itself stopped"};
        spdlog::error("{}", failure.why);
        queue.lose_all(failure);
        throw PrintedError(failure.exit_code, failure.why);
    }
    if (const auto failure = queue.no_replica_left()) throw Error(failure->exit_code, failure->why);
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

ServedWork serve(ServeSettings settings, const LanguageModel& model, SharedQueue& queue,
                 StopSignals& signals) {
    http::raise_descriptor_limit();
    const StopTimes times{settings.time_limit_s, settings.api.grace_seconds};
    const bool open = settings.api.keys.empty() && !is_loopback(settings.http.host);
    const std::string name = settings.api.model.name;
    Api api(std::move(settings.api), model, queue);
    settings.http.admit = [&](const http::Request& request) { return api.admit(request); };
    settings.http.refusal = [&](const http::Refused& refused) { return api.refusal(refused); };
    http::Router routes = api.routes();
    add_page_routes(routes);
    http::Server server(std::move(settings.http), std::move(routes));
    api.set_counters(server.counters());
    std::optional<AddressFile> address;
    if (!settings.address_file.empty())
        address.emplace(settings.address_file, server.url(), [&] { return api.load(); });
    if (open)
        print_error("warning: everybody who reaches this address can use the model: there are no API keys");
    const std::size_t replicas = queue.replicas().size();
    print_error(fmt::format("serving {} at {}/v1{}", name, server.url(),
                            replicas > 1 ? fmt::format(" with {} replicas", replicas) : ""));

    const auto end = [&] {
        api.end_waits();
        server.stop(signals.launcher_ends_job() ? hurried_time : last_bytes_time);
        address.reset();  // now, because a failure of a replica ends the process without destructors
    };
    try {
        serve_until_stopped(signals, api, queue, times);
    } catch (...) {
        end();
        throw;
    }
    end();
    const EngineCounters done = queue.counters();
    return {done.requests, done.tokens_in, done.tokens_out};
}

}  // namespace voltpile::llm
