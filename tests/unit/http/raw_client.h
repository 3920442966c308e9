// A client of bare sockets, which can send what no well-behaved client would.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <string>
#include <string_view>
#include <utility>

namespace voltpile::http {

// A response as it arrived.
struct RawResponse {
    int status = 0;  // 0: none came
    std::string head, body;

    // Returns the value of a header; empty if there is none. name: as the server writes it.
    std::string header(const std::string& name) const {
        const std::size_t begin = head.find("\r\n" + name + ": ");
        if (begin == std::string::npos) return {};
        const std::size_t value = begin + name.size() + 4;
        return head.substr(value, head.find("\r\n", value) - value);
    }
};

class RawClient {
  public:
    static constexpr int patience_ms = 60'000;

    explicit RawClient(int port, int receive_buffer = 0) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        if (receive_buffer > 0)
            setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    ~RawClient() { close(); }
    RawClient(RawClient&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)),
          connected_(other.connected_),
          received_(std::move(other.received_)) {}
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;
    RawClient& operator=(RawClient&&) = delete;

    bool connected() const { return connected_; }
    int socket_number() const { return socket_; }

    // Sends all of it, or as much as the server takes before it closes.
    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    void end_sending() { shutdown(socket_, SHUT_WR); }
    void close() {
        if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    }

    // Reads until what was received contains `text`; returns everything up to its end, or all if the server
    // closes.
    std::string read_until(const std::string& text) {
        std::size_t found;
        while ((found = received_.find(text)) == std::string::npos)
            if (!receive()) return std::exchange(received_, {});
        const std::string read = received_.substr(0, found + text.size());
        received_.erase(0, read.size());
        return read;
    }

    std::string read_all() {
        while (receive()) {
        }
        return std::exchange(received_, {});
    }

    // Reads one response with its body. head: the request was HEAD.
    RawResponse response(bool head = false) {
        RawResponse response;
        response.head = read_until("\r\n\r\n");
        if (!response.head.starts_with("HTTP/1.1 ")) return response;
        response.status = std::stoi(response.head.substr(9, 3));
        if (head || response.status == 204 || response.status == 100) return response;
        if (response.header("Transfer-Encoding") == "chunked") {
            while (const std::size_t size = std::stoul("0" + read_until("\r\n"), nullptr, 16)) {
                response.body += read_exactly(size);
                read_until("\r\n");
            }
            read_until("\r\n");
        } else if (const std::string length = response.header("Content-Length"); !length.empty()) {
            response.body = read_exactly(std::stoul(length));
        } else {
            response.body = read_all();
        }
        return response;
    }

    RawResponse get(const std::string& path, const std::string& headers = "") {
        send("GET " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
        return response();
    }

    RawResponse post(const std::string& path, const std::string& body, const std::string& headers = "") {
        send("POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) +
             "\r\n" + headers + "\r\n" + body);
        return response();
    }

    // Whether the server closes the connection, sooner or later.
    bool closed_by_server() {
        while (receive()) {
        }
        return !timed_out_;
    }

  private:
    std::string read_exactly(std::size_t bytes) {
        while (received_.size() < bytes && receive()) {
        }
        const std::string read = received_.substr(0, bytes);
        received_.erase(0, read.size());
        return read;
    }

    bool receive() {
        pollfd waiting{socket_, POLLIN, 0};
        timed_out_ = poll(&waiting, 1, patience_ms) == 0;
        char bytes[4096];
        const ssize_t count = timed_out_ ? 0 : recv(socket_, bytes, sizeof bytes, 0);
        if (count <= 0) return false;
        received_.append(bytes, static_cast<std::size_t>(count));
        return true;
    }

    int socket_;
    bool connected_ = false, timed_out_ = false;
    std::string received_;
};

}  // namespace voltpile::http
