#include "http/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "http/asio_context.h"

namespace voltpile::http {
namespace {

constexpr std::chrono::milliseconds no_room_time{100};  // before the next try when descriptors have run out

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, int port) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    if (failed != 0) throw JobError(fmt::format("cannot listen on host {}: {}", host, gai_strerror(failed)));
    return {found, freeaddrinfo};
}

enum class Use { listen, only_bind };

// Returns the descriptor of a socket for the first of the addresses that can be had. Throws MachineError.
int socket_for(const std::string& host, int port, Use use) {
    const Addresses addresses = addresses_of(host, port);
    int error = 0;
    for (const addrinfo* each = addresses.get(); each; each = each->ai_next) {
        const int descriptor =
            socket(each->ai_family, each->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, each->ai_protocol);
        const int on = 1;
        if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (descriptor >= 0 && bind(descriptor, each->ai_addr, each->ai_addrlen) == 0 &&
            (use == Use::only_bind || listen(descriptor, SOMAXCONN) == 0))
            return descriptor;
        error = errno;
        if (descriptor >= 0) close(descriptor);
    }
    throw MachineError(
        fmt::format("cannot listen on {}:{}: {}", host, port, std::generic_category().message(error)));
}

std::string numeric(const sockaddr_storage& address, socklen_t length, int flags) {
    char host[NI_MAXHOST] = "", service[NI_MAXSERV] = "";
    getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, service,
                sizeof service, NI_NUMERICHOST | NI_NUMERICSERV);
    return flags == NI_NUMERICSERV ? service : host;
}

}  // namespace

struct Listener::Socket : std::enable_shared_from_this<Listener::Socket> {
    Socket(EventLoop& loop, int descriptor) : listening(loop.context().io, descriptor), later(loop) {}

    void wait() {
        listening.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [self = shared_from_this()](const boost::system::error_code& error) {
                                 if (!error) self->accept_all();
                             });
    }

    void accept_all() {
        while (listening.is_open()) {
            sockaddr_storage address{};
            socklen_t length = sizeof address;
            const int accepted_socket =
                accept4(listening.native_handle(), reinterpret_cast<sockaddr*>(&address), &length,
                        SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (accepted_socket >= 0) {
                accepted(accepted_socket, numeric(address, length, NI_NUMERICHOST));
                continue;
            }
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                return later.set(no_room_time, [self = shared_from_this()] { self->wait(); });
            if (errno == EAGAIN || errno == EWOULDBLOCK) return wait();
            // Anything else is about the connection, which is gone before it was accepted.
        }
    }

    boost::asio::posix::stream_descriptor listening;
    Deadline later;
    Accepted accepted;
};

void check_address(const std::string& host, int port) {
    close(socket_for(host, port, Use::only_bind));
}

Listener::Listener(EventLoop& loop, const std::string& host, int port) {
    const int descriptor = socket_for(host, port, Use::listen);
    socket_ = std::make_shared<Socket>(loop, descriptor);
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = std::stoi(numeric(address, length, NI_NUMERICSERV));
}

Listener::~Listener() {
    stop();
}

void Listener::start(Accepted accepted) {
    socket_->accepted = std::move(accepted);
    socket_->wait();
}

void Listener::stop() {
    boost::system::error_code ignored;
    socket_->later.cancel();
    socket_->listening.close(ignored);
}

}  // namespace voltpile::http
