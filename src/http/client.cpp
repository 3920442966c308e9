#include "http/client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "http/client_connection.h"
#include "http/stream.h"
#include "http/tls_context.h"

namespace voltpile::http {

struct ServerAddress {
    sockaddr_storage address{};
    socklen_t length = 0;
};

namespace {

std::vector<ServerAddress> find_server(const Url& url) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int failed = getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &wanted, &found);
    if (failed != 0)
        throw MachineError(
            fmt::format("cannot reach {}: {}: {}", url.text(), url.host, gai_strerror(failed)));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
    std::vector<ServerAddress> addresses;
    for (const addrinfo* each = found; each; each = each->ai_next) {
        ServerAddress& one = addresses.emplace_back();
        std::memcpy(&one.address, each->ai_addr, each->ai_addrlen);
        one.length = each->ai_addrlen;
    }
    return addresses;
}

std::string request_text(const ClientRequest& request, const Url& server) {
    std::string text =
        fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.path, server.authority());
    for (const Header& each : request.headers)
        fmt::format_to(std::back_inserter(text), "{}: {}\r\n", each.name, each.value);
    if (!request.body.empty())
        fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n", request.body.size());
    return text + "\r\n" + request.body;
}

}  // namespace

class Client::Implementation : public std::enable_shared_from_this<Implementation> {
  public:
    Implementation(EventLoop& loop, ClientSettings settings)
        : loop_(loop), settings_(std::move(settings)), addresses_(find_server(settings_.server)) {
        if (settings_.server.tls) tls_ = std::make_unique<TlsContext>(settings_.trusted);
    }

    void close() {
        for (const auto& [unused, connection] : connections_) connection->close();
        connections_.clear();
        idle_.clear();
    }

    void send(const ClientRequest& wanted, ResponseEvents events) {
        std::string request = request_text(wanted, settings_.server);
        if (idle_.empty()) return send_on(connect(), std::move(request), std::move(events), false);
        ClientConnection* const idle = idle_.back();
        idle_.pop_back();
        send_on(idle, std::move(request), std::move(events), true);
    }

  private:
    ClientConnection* connect() {
        const ServerAddress& to = addresses_[address_];
        auto stream = make_client_stream(loop_, reinterpret_cast<const sockaddr*>(&to.address), to.length,
                                         tls_.get(), settings_.server.host);
        const auto connection =
            std::make_shared<ClientConnection>(loop_, std::move(stream), settings_.silence_time,
                                               [this](ClientConnection* closed) { forget(closed); });
        connections_.emplace(connection.get(), connection);
        return connection.get();
    }

    // reused: it has answered before, so that the server may have closed it meanwhile.
    void send_on(ClientConnection* connection, std::string request, ResponseEvents events, bool reused) {
        const std::size_t address = address_;
        ResponseEvents passed{events.head, events.body, {}};
        auto ended = [this, self = shared_from_this(), connection, request, events = std::move(events),
                      reused, address](ClientConnection::End end) mutable {
            if (end.reusable)
                idle_.push_back(connection);
            else
                forget(connection);
            if (!end.connected && address + 1 < addresses_.size()) {
                address_ = std::max(address_, address + 1);
                return send_on(connect(), std::move(request), std::move(events), false);
            }
            if (reused && !end.error.empty() && end.untouched)
                return send_on(connect(), std::move(request), std::move(events), false);
            events.end(end.error);
        };
        connection->send(std::move(request), std::move(passed), std::move(ended));
    }

    void forget(ClientConnection* connection) {
        std::erase(idle_, connection);
        connections_.erase(connection);
    }

    EventLoop& loop_;
    ClientSettings settings_;
    std::vector<ServerAddress> addresses_;
    std::size_t address_ = 0;  // the one to connect to: those before it do not answer
    std::unique_ptr<TlsContext> tls_;
    std::unordered_map<ClientConnection*, std::shared_ptr<ClientConnection>> connections_;
    std::vector<ClientConnection*> idle_;
};

Client::Client(EventLoop& loop, ClientSettings settings)
    : implementation_(std::make_shared<Implementation>(loop, std::move(settings))) {}

Client::~Client() {
    close();
}

void Client::send(const ClientRequest& request, ResponseEvents events) {
    implementation_->send(request, std::move(events));
}

void Client::close() {
    implementation_->close();
}

Fetched fetch(const ClientSettings& settings, const ClientRequest& request) {
    EventLoop loop;
    Client client(loop, settings);
    Fetched fetched;
    std::string failed;
    loop.post([&] {
        client.send(request, {[&](int status, const std::string& content_type) {
                                  fetched.status = status;
                                  fetched.content_type = content_type;
                              },
                              [&](std::string_view piece) { fetched.body += piece; },
                              [&](const std::string& error) {
                                  failed = error;
                                  client.close();
                                  loop.finish();
                              }});
    });
    loop.run();
    if (failed.empty()) return fetched;
    Url url = settings.server;
    url.path = request.path;
    throw CommError(fmt::format("{} {}: {}", request.method, url.text(), failed));
}

}  // namespace voltpile::http
