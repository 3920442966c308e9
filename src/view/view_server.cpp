#include "view/view_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/error.h"
#include "http/server.h"
#include "view/page_files.h"
#include "view/tiles.h"

namespace voltpile {
namespace {

http::Response refusal(int status, std::string_view message) {
    return {status, "application/json", nlohmann::json{{"error", message}}.dump(), {}};
}

http::Response page_response(const ViewPageFile& file) {
    return {200,
            std::string(file.content_type),
            std::string(file.body),
            {{"Cache-Control", "no-store"},
             {"Content-Security-Policy",
              "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
              "data:; "
              "base-uri 'none'; "
              "form-action 'none'; frame-ancestors 'none'"},
             {"X-Content-Type-Options", "nosniff"},
             {"Referrer-Policy", "no-referrer"}}};
}

// Reads "field=steps&level=3&at=body%3D1&x=0&y=2".
TileRequest tile_request(std::string_view query) {
    TileRequest request;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        const std::string_view name = pair.substr(0, pair.find('='));
        const auto value = http::percent_decoded(pair.substr(std::min(pair.size(), name.size() + 1)));
        if (!value) throw JobError(fmt::format("{} is not percent-encoded text", name));
        const auto read = [&](auto& number) {
            const auto end = value->data() + value->size();
            const auto parsed = std::from_chars(value->data(), end, number);
            if (parsed.ec != std::errc() || parsed.ptr != end)
                throw JobError(fmt::format("{}={} is not a whole number", name, *value));
        };
        if (name == "field") request.field = *value;
        if (name == "at") request.at.push_back(*value);
        if (name == "level") read(request.level);
        if (name == "x") read(request.x);
        if (name == "y") read(request.y);
    }
    return request;
}

}  // namespace

// Reading the result takes a while, so a thread of its own does it, one request after the other.
class ViewServer::Implementation {
  public:
    Implementation(const std::filesystem::path& result, int port) : tiles_(result) {
        http::ServerSettings settings;
        settings.port = port;
        settings.connections = 64;
        // A page from elsewhere could reach this address under a name of its own (DNS rebinding).
        settings.admit = [](const http::Request& request) -> std::optional<http::Response> {
            const std::string_view host = request.header("Host");
            const std::string_view name = host.substr(0, host.rfind(':'));
            if (name == "127.0.0.1" || name == "localhost") return {};
            return refusal(403, "this server answers only to 127.0.0.1 and localhost");
        };
        settings.refusal = [](const http::Refused& refused) {
            return refusal(refused.status, refused.message);
        };
        worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
        server_.emplace(std::move(settings), routes());
    }
    ~Implementation() {
        worker_.request_stop();
        worker_.join();
        waiting_.clear();  // replies need the server
        server_->stop(std::chrono::milliseconds(0));
    }

    std::string url() const { return server_->url() + "/"; }

  private:
    struct Waiting {
        http::Request request;
        http::Reply reply;
    };

    http::Router routes() {
        http::Router router;
        for (const ViewPageFile& file : view_page_files())
            router.add("GET", std::string(file.path),
                       [&file](const http::Request&, http::Reply reply) { reply.send(page_response(file)); });
        router.add("GET", "/api/maps", [](const http::Request&, http::Reply reply) {
            reply.send({200, "application/json", color_maps_json(), {}});
        });
        const auto later = [this](http::Request request, http::Reply reply) {
            const std::scoped_lock lock(mutex_);
            waiting_.push_back({std::move(request), std::move(reply)});
            arrived_.notify_one();
        };
        router.add("GET", "/api/result", later);
        router.add("GET", "/api/tile", later);
        return router;
    }

    void work(const std::stop_token& stop) {
        for (;;) {
            std::unique_lock lock(mutex_);
            if (!arrived_.wait(lock, stop, [this] { return !waiting_.empty(); }) || stop.stop_requested())
                return;
            Waiting next = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            if (!next.reply.gone()) next.reply.send(answer(next.request));
        }
    }

    http::Response answer(const http::Request& request) {
        try {
            const std::vector<http::Header> fresh{{"Cache-Control", "no-store"}};
            if (request.path == "/api/result") return {200, "application/json", tiles_.description(), fresh};
            return {200, "application/octet-stream", tiles_.tile(tile_request(request.query)), fresh};
        } catch (const JobError& error) {
            return refusal(400, error.what());
        } catch (const std::exception& error) {
            return refusal(500, error.what());
        }
    }

    Tiles tiles_;  // the worker's
    std::mutex mutex_;
    std::condition_variable_any arrived_;
    std::deque<Waiting> waiting_;
    std::optional<http::Server> server_;
    std::jthread worker_;
};

ViewServer::ViewServer(const std::filesystem::path& result, int port)
    : implementation_(std::make_unique<Implementation>(result, port)) {}

ViewServer::~ViewServer() = default;

std::string ViewServer::url() const {
    return implementation_->url();
}

}  // namespace voltpile
