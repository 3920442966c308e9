#include "http/stream.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "http/asio_context.h"
#include "http/tls_context.h"

namespace voltpile::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

Socket socket_of(EventLoop& loop, int descriptor) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
    return {loop.context().io, address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
            descriptor};
}

// Returns a handler that keeps the error for Stream::error().
auto told(error_code& kept, Stream::Done done) {
    return [&kept, done = std::move(done)](const error_code& error, std::size_t bytes = 0) {
        kept = error;
        done(bytes, !error);
    };
}

// Waits until the socket is connected. begun: what connect() returned at once.
template <class Then>
void wait_connected(Socket& socket, const error_code& begun, Then then) {
    if (begun) return asio::post(socket.get_executor(), [begun, then = std::move(then)] { then(begun); });
    socket.async_wait(Socket::wait_write, [&socket, then = std::move(then)](error_code error) {
        int failed = 0;
        socklen_t length = sizeof failed;
        if (!error && getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &failed, &length) == 0)
            error = error_code(failed, boost::system::system_category());
        then(error);
    });
}

void close_socket(Socket& socket) {
    error_code ignored;
    socket.close(ignored);
}

void end_socket(Socket& socket) {
    error_code ignored;
    socket.shutdown(asio::socket_base::shutdown_send, ignored);
}

void discard_unsent(Socket& socket) {
    error_code ignored;
    socket.set_option(asio::socket_base::linger(true, 0), ignored);
}

class PlainStream final : public Stream {
  public:
    explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}
    // A client's. begun: what connect() returned at once.
    PlainStream(Socket socket, const error_code& begun)
        : socket_(std::move(socket)), connects_(true), error_(begun) {}

    void open(Done done) override {
        if (!connects_) return done(0, true);
        wait_connected(socket_, error_, told(error_, std::move(done)));
    }
    void read(std::span<char> into, Done done) override {
        socket_.async_read_some(asio::buffer(into.data(), into.size()), told(error_, std::move(done)));
    }
    void write(std::string_view bytes, Done done) override {
        socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), told(error_, std::move(done)));
    }
    void end_writing() override { end_socket(socket_); }
    void close() override { close_socket(socket_); }
    void reset() override { discard_unsent(socket_); }
    std::string error() const override { return error_.message(); }

  private:
    Socket socket_;
    bool connects_ = false;
    error_code error_;
};

class TlsStream final : public Stream {
  public:
    TlsStream(Socket socket, TlsContext& tls) : stream_(std::move(socket), tls.context()) {}
    // A client's.
    TlsStream(Socket socket, const error_code& begun, TlsContext& tls, const std::string& host)
        : TlsStream(std::move(socket), tls) {
        connects_ = true;
        error_ = begun;
        SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
        stream_.set_verify_callback(asio::ssl::host_name_verification(host));
    }

    void open(Done done) override {
        if (!connects_)
            return stream_.async_handshake(asio::ssl::stream_base::server, told(error_, std::move(done)));
        wait_connected(stream_.next_layer(), error_, [this, done = std::move(done)](const error_code& error) {
            if (error) return told(error_, done)(error);
            stream_.async_handshake(asio::ssl::stream_base::client, told(error_, done));
        });
    }
    void read(std::span<char> into, Done done) override {
        stream_.async_read_some(asio::buffer(into.data(), into.size()), told(error_, std::move(done)));
    }
    void write(std::string_view bytes, Done done) override {
        stream_.async_write_some(asio::buffer(bytes.data(), bytes.size()), told(error_, std::move(done)));
    }
    void end_writing() override { end_socket(stream_.next_layer()); }
    void close() override { close_socket(stream_.next_layer()); }
    void reset() override { discard_unsent(stream_.next_layer()); }
    std::string error() const override { return error_.message(); }

  private:
    asio::ssl::stream<Socket> stream_;
    bool connects_ = false;
    error_code error_;
};

void send_without_delay(int descriptor) {
    const int on = 1;  // events are small and must not wait for each other
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

std::unique_ptr<Stream> make_stream(EventLoop& loop, int descriptor, int send_buffer, TlsContext* tls) {
    send_without_delay(descriptor);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    if (tls) return std::make_unique<TlsStream>(socket_of(loop, descriptor), *tls);
    return std::make_unique<PlainStream>(socket_of(loop, descriptor));
}

std::unique_ptr<Stream> make_client_stream(EventLoop& loop, const sockaddr* address, unsigned length,
                                           TlsContext* tls, const std::string& host) {
    const int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        throw MachineError(
            fmt::format("cannot connect to {}: {}", host, std::generic_category().message(errno)));
    error_code begun;
    if (connect(descriptor, address, length) != 0 && errno != EINPROGRESS)
        begun = error_code(errno, boost::system::system_category());
    send_without_delay(descriptor);
    if (tls) return std::make_unique<TlsStream>(socket_of(loop, descriptor), begun, *tls, host);
    return std::make_unique<PlainStream>(socket_of(loop, descriptor), begun);
}

}  // namespace voltpile::http
