#include "llm/serve/serve.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include "base/seconds_since.h"
#include "base/standard_streams.h"
#include "llm/serve/page_routes.h"

namespace voltpile::llm {
namespace {

constexpr std::chrono::seconds last_bytes_time{5};  // for clients to take the ends of their answers
constexpr int look_ms = 100;                        // how often the watch looks whether it should end

// Written under another name first, so that a reader never sees half of it.
void write_address(const std::string& path, const std::string& url) {
    const std::string unfinished = path + ".part";
    std::ofstream file(unfinished);
    file << url << "\n";
    file.close();
    if (!file) throw FileError("write", unfinished, errno);
    if (std::rename(unfinished.c_str(), path.c_str()) != 0) throw FileError("write", path, errno);
}

// Waits for signals, and drains.
void watch_signals(const std::stop_token& stop, StopSignals& signals, Api& api, Engine& engine,
                   int grace_seconds) {
    const auto next = [&](int count) {
        while (!stop.stop_requested() && signals.received() < count) signals.wait(look_ms);
        return !stop.stop_requested();
    };
    if (!next(1)) return;
    print_error(
        fmt::format("stopping: finishing requests for at most {} s; new ones are refused", grace_seconds));
    api.drain();
    engine.close();
    const auto begin = std::chrono::steady_clock::now();
    while (!stop.stop_requested() && signals.received() < 2 && seconds_since(begin) < grace_seconds)
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
    const int grace = settings.api.grace_seconds;
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
    if (!settings.address_file.empty()) write_address(settings.address_file, server.url());
    if (open)
        print_error(
            "warning: everybody who reaches this address can use the model: there is no --api-key-file");
    print_error(fmt::format("serving {} at {}/v1", name, server.url()));

    std::jthread watch(
        [&](const std::stop_token& stop) { watch_signals(stop, signals, api, engine, grace); });
    try {
        while (engine.wait()) engine.step();
    } catch (...) {
        server.stop(last_bytes_time);
        throw;
    }
    watch.request_stop();
    server.stop(last_bytes_time);
    if (!settings.address_file.empty()) std::remove(settings.address_file.c_str());
}

}  // namespace voltpile::llm
