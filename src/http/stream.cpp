#include "http/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

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

auto told(Stream::Done done) {
    return [done = std::move(done)](const error_code& error, std::size_t bytes) { done(bytes, !error); };
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

    void open(Done done) override { done(0, true); }
    void read(std::span<char> into, Done done) override {
        socket_.async_read_some(asio::buffer(into.data(), into.size()), told(std::move(done)));
    }
    void write(std::string_view bytes, Done done) override {
        socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), told(std::move(done)));
    }
    void end_writing() override { end_socket(socket_); }
    void close() override { close_socket(socket_); }
    void reset() override { discard_unsent(socket_); }

  private:
    Socket socket_;
};

class TlsStream final : public Stream {
  public:
    TlsStream(Socket socket, TlsContext& tls) : stream_(std::move(socket), tls.context()) {}

    void open(Done done) override {
        stream_.async_handshake(asio::ssl::stream_base::server,
                                [done = std::move(done)](const error_code& error) { done(0, !error); });
    }
    void read(std::span<char> into, Done done) override {
        stream_.async_read_some(asio::buffer(into.data(), into.size()), told(std::move(done)));
    }
    void write(std::string_view bytes, Done done) override {
        stream_.async_write_some(asio::buffer(bytes.data(), bytes.size()), told(std::move(done)));
    }
    void end_writing() override { end_socket(stream_.next_layer()); }
    void close() override { close_socket(stream_.next_layer()); }
    void reset() override { discard_unsent(stream_.next_layer()); }

  private:
    asio::ssl::stream<Socket> stream_;
};

}  // namespace

std::unique_ptr<Stream> make_stream(EventLoop& loop, int descriptor, int send_buffer, TlsContext* tls) {
    const int on = 1;  // events are small and must not wait for each other
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    if (tls) return std::make_unique<TlsStream>(socket_of(loop, descriptor), *tls);
    return std::make_unique<PlainStream>(socket_of(loop, descriptor));
}

}  // namespace voltpile::http
