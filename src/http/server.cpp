#include "http/server.h"

#include <fmt/format.h>

#include <future>
#include <random>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "http/connection.h"
#include "http/event_loop.h"
#include "http/listener.h"
#include "http/stream.h"
#include "http/tls_context.h"

namespace voltpile::http {
namespace {

// Beyond the limit, this many more connections are answered with 503; others are closed at once.
constexpr int answered_beyond_limit = 64;

std::unique_ptr<TlsContext> tls_of(const ServerSettings& settings) {
    if (settings.tls_certificate.empty() && settings.tls_key.empty()) return nullptr;
    if (settings.tls_certificate.empty() || settings.tls_key.empty())
        throw JobError("TLS needs a certificate file and a key file");
    return std::make_unique<TlsContext>(settings.tls_certificate, settings.tls_key);
}

}  // namespace

class Server::Implementation {
  public:
    Implementation(ServerSettings settings, Router router)
        : settings_(std::move(settings)),
          router_(std::move(router)),
          tls_(tls_of(settings_)),
          listener_(loop_, settings_.host, settings_.port) {
        context_.closed = [this](Connection* connection) {
            connections_.erase(connection);
            counters_.connections = std::ssize(connections_);
            if (connections_.empty() && all_closed_) std::exchange(all_closed_, nullptr)->set_value();
        };
        context_.new_request_id = [this] { return fmt::format("{:012x}-{}", start_, ++requests_); };
        listener_.start([this](int descriptor, std::string peer) { accept(descriptor, std::move(peer)); });
        thread_ = std::jthread([this] { loop_.run(); });
    }

    ~Implementation() { stop(std::chrono::milliseconds(0)); }

    void stop(std::chrono::milliseconds grace) {
        if (!thread_.joinable()) return;
        std::promise<void> closed;
        auto all_closed = closed.get_future();
        loop_.post([&] {
            context_.stopping = true;
            listener_.stop();
            for (const auto& connection : all()) connection->stop();
            if (connections_.empty())
                closed.set_value();
            else
                all_closed_ = &closed;
        });
        all_closed.wait_for(grace);
        loop_.post([this] {
            all_closed_ = nullptr;
            for (const auto& connection : all()) connection->drop();
            loop_.finish();
        });
        thread_.join();
    }

    int port() const { return listener_.port(); }
    std::string url() const {
        const bool all = settings_.host == "0.0.0.0" || settings_.host == "::";
        const std::string host = all ? host_name() : settings_.host;
        const bool v6 = host.find(':') != std::string::npos;
        return fmt::format("{}://{}{}{}:{}", tls_ ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "",
                           port());
    }
    const ServerCounters& counters() const { return counters_; }

  private:
    std::vector<std::shared_ptr<Connection>> all() const {
        std::vector<std::shared_ptr<Connection>> copies;  // because connections leave the table as they close
        for (const auto& [unused, connection] : connections_) copies.push_back(connection);
        return copies;
    }

    void accept(int descriptor, std::string peer) {
        ++counters_.accepted;
        auto stream = make_stream(loop_, descriptor, settings_.send_buffer, tls_.get());
        const auto open = static_cast<int>(connections_.size());
        if (open >= settings_.connections) ++counters_.over_limit;
        if (open >= settings_.connections + answered_beyond_limit) return;
        const auto connection = std::make_shared<Connection>(context_, std::move(stream), std::move(peer));
        connections_.emplace(connection.get(), connection);
        counters_.connections = std::ssize(connections_);
        if (open >= settings_.connections)
            connection->start_refused(
                503, fmt::format("the server has {} connections, its limit", settings_.connections));
        else
            connection->start();
    }

    ServerSettings settings_;
    Router router_;
    ServerCounters counters_;
    std::unique_ptr<TlsContext> tls_;
    EventLoop loop_;
    Listener listener_;
    std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
    ConnectionContext context_{loop_, settings_, router_, counters_, {}, {}};
    std::promise<void>* all_closed_ = nullptr;
    std::uint64_t start_ = std::random_device{}() * std::uint64_t{0x10000} + std::random_device{}() % 0x10000;
    std::uint64_t requests_ = 0;
    std::jthread thread_;
};

void check_tls_files(const std::string& certificate, const std::string& key) {
    const TlsContext context(certificate, key);
}

Server::Server(ServerSettings settings, Router router)
    : implementation_(std::make_unique<Implementation>(std::move(settings), std::move(router))) {}

Server::~Server() = default;

int Server::port() const {
    return implementation_->port();
}

std::string Server::url() const {
    return implementation_->url();
}

const ServerCounters& Server::counters() const {
    return implementation_->counters();
}

void Server::stop(std::chrono::milliseconds grace) {
    implementation_->stop(grace);
}

}  // namespace voltpile::http
