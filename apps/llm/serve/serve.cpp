#include "llm/serve/serve.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/seconds_since.h"
#include "base/standard_streams.h"
#include "llm/serve/address_file.h"
#include "llm/serve/page_routes.h"

namespace voltpile::llm {
namespace {

constexpr std::chrono::seconds last_bytes_time{5};  // for clients to take the ends of their answers
constexpr int look_ms = 100;                        // how often the watch looks whether it should end

struct StopTimes {
    double limit_s;  // of serving
    int grace_s;     // for requests to finish
};

// Waits for a signal or the time limit, and drains.
void watch_signals(const std::stop_token& stop, StopSignals& signals, Api& api, Engine& engine,
                   StopTimes times) {
    const auto start = std::chrono::steady_clock::now();
    while (!stop.stop_requested() && signals.received() < 1 && seconds_since(start) < times.limit_s)
        signals.wait(look_ms);
    if (stop.stop_requested()) return;
    const int signals_before = signals.received();
    print_error(
        fmt::format("stopping: finishing requests for at most {} s; new ones are refused", times.grace_s));
    api.drain();
    engine.close();
    const auto begin = std::chrono::steady_clock::now();
    while (!stop.stop_requested() && signals.received() <= signals_before &&
           seconds_since(begin) < times.grace_s)
        signals.wait(look_ms);
    if (!stop.stop_requested()) api.cancel_all();
}

// Each connection takes a descriptor; the usual limit is far below what the system allows.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

void serve(ServeSettings settings, const LanguageModel& model, Engine& engine, StopSignals& signals) {
    raise_descriptor_limit();
    const StopTimes times{settings.time_limit_s, settings.api.grace_seconds};
    const bool open = settings.api.keys.empty() && !is_loopback(settings.http.host);
    const std::string name = settings.api.model.name;
    Api api(std::move(settings.api), model, engine);
    settings.http.admit = [&](const http::Request& request) { return api.admit(request); };
    settings.http.refusal = [](int status, std::string_view message, std::string_view path) {
        return Api::refusal(ApiError(status, std::string(message)), path);
    };
    http::Router routes = api.routes();
    add_page_routes(routes);
    http::Server server(std::move(settings.http), std::move(routes));
    api.set_counters(server.counters());
    std::optional<AddressFile> address;
    if (!settings.address_file.empty())
        address.emplace(settings.address_file, server.url(), [&] { return api.load(); });
    if (open)
        print_error("warning: everybody who reaches this address can use the model: there are no API keys");
    print_error(fmt::format("serving {} at {}/v1", name, server.url()));

    std::jthread watch(
        [&](const std::stop_token& stop) { watch_signals(stop, signals, api, engine, times); });
    try {
        while (engine.wait()) engine.step();
    } catch (...) {
        server.stop(last_bytes_time);
        throw;
    }
    watch.request_stop();
    server.stop(last_bytes_time);
}

}  // namespace voltpile::llm
