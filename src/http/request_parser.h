// Parses one request from bytes as they arrive (Boost.Beast), and says which status answers a bad one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.h"

namespace voltpile::http {

// Why a request cannot be answered.
struct Refusal {
    int status = 0;  // 0: nothing is wrong
    std::string message;
};

class RequestParser {
  public:
    // header_bytes, body_bytes: the most that a request may have.
    RequestParser(std::size_t header_bytes, std::size_t body_bytes);
    ~RequestParser();
    RequestParser(RequestParser&&) noexcept;
    RequestParser& operator=(RequestParser&&) noexcept;

    // Parses what it can and returns how many bytes it used; pass the rest again, with more after it. Stops
    // after the head, so that the caller can look at it before the body arrives, and after the body.
    std::size_t parse(std::string_view bytes);

    bool begun() const;      // some bytes were used
    bool head_done() const;  // the request is complete but for its body
    bool done() const;
    const Refusal& refusal() const { return refusal_; }

    // After the head:
    const Request& request() const { return request_; }
    // Fills in what the connection knows of the request: the client's address and the request's id.
    void identify(std::string peer, std::string id) {
        request_.peer = std::move(peer);
        request_.id = std::move(id);
    }
    bool keep_alive() const;        // HTTP says so
    bool chunks() const;            // the client understands chunked responses (HTTP/1.1)
    bool expects_continue() const;  // it waits for "100 Continue" before it sends the body
    Request take();                 // after the body

  private:
    struct Parser;
    void refuse(int status, std::string message);
    void read_head();

    std::unique_ptr<Parser> parser_;
    std::size_t header_bytes_, body_bytes_;
    Request request_;
    Refusal refusal_;
    bool head_done_ = false;
};

}  // namespace voltpile::http
