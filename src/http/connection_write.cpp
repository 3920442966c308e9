#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "http/connection.h"

namespace voltpile::http {
namespace {

constexpr std::chrono::milliseconds linger_time{2000};  // for a client to read why it was refused

}  // namespace

bool Connection::cors_allows(std::string_view origin) const {
    const auto& allowed = context_.settings.cors_origins;
    return !origin.empty() && std::ranges::any_of(allowed, [&](const std::string& each) {
        return each == "*" || each == origin;
    });
}

std::vector<Header> Connection::cors_headers() const {
    if (!cors_allows(origin_)) return {};
    return {{"Access-Control-Allow-Origin", origin_},
            {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"},
            {"Vary", "Origin"}};
}

// A browser asks before it sends a request for a page of another origin.
bool Connection::answer_preflight(const Request& request) {
    const bool asks = request.method == "OPTIONS" && !request.header("Access-Control-Request-Method").empty();
    if (!asks || !cors_allows(origin_)) return false;
    Response response;
    response.status = 204;
    response.content_type.clear();
    response.headers = {
        {"Access-Control-Allow-Methods", "GET, HEAD, POST"},
        {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key, X-Request-Id"},
        {"Access-Control-Max-Age", "600"}};
    respond(std::move(response), !parser_.done());
    return true;
}

void Connection::refuse(int status, std::string_view message, std::vector<Header> headers) {
    ++context_.counters.refused;
    Response response;
    if (context_.settings.refusal) {
        response = context_.settings.refusal({status, message, path_, id_, peer_});
    } else {
        response.content_type = "text/plain; charset=utf-8";
        response.body = fmt::format("{}\n", message);
    }
    response.status = status;
    response.headers.insert(response.headers.end(), headers.begin(), headers.end());
    respond(std::move(response), !parser_.done());
}

// Sends a whole response that no handler gave. close: the connection cannot be used further.
void Connection::respond(Response response, bool close) {
    if (close || context_.stopping) keep_alive_ = false;
    state_ = State::Refusing;
    read_deadline_.cancel();
    if (outgoing_) std::exchange(outgoing_, nullptr)->detach();
    out_ += head_text(response, Framing::Length, keep_alive_, id_, cors_headers());
    if (!head_only_) out_ += response.body;
    last_ = true;
    write_out();
}

// Takes what the handler has given since the last time.
void Connection::flush() {
    if (!outgoing_ || last_) return;
    if (outgoing_->slow()) return drop_slow();
    if (writing_) return;
    Outgoing::Part part = outgoing_->take();
    if (part.broken) {
        if (head_sent_ || part.head) return drop();
        keep_alive_ = false;
        return refuse(500, "the server failed to answer this request");
    }
    if (part.head) {
        head_sent_ = true;
        framing_ = part.whole ? Framing::Length : chunks_ ? Framing::Chunked : Framing::UntilClose;
        if (framing_ == Framing::UntilClose || context_.stopping) keep_alive_ = false;
        out_ += head_text(*part.head, framing_, keep_alive_, id_, cors_headers());
        part.body.insert(0, part.head->body);
    }
    if (!head_only_ && !part.body.empty()) {
        if (framing_ == Framing::Chunked)
            out_ += fmt::format("{:x}\r\n{}\r\n", part.body.size(), part.body);
        else
            out_ += part.body;
    }
    if (part.ended) {
        if (framing_ == Framing::Chunked && !head_only_) out_ += "0\r\n\r\n";
        last_ = true;
        std::exchange(outgoing_, nullptr)->detach();
    }
    write_out();
}

void Connection::write_out() {
    if (writing_ || out_.empty()) return;
    writing_ = true;
    in_flight_ = std::exchange(out_, {});
    sent_ = 0;
    write_some();
}

void Connection::write_some() {
    write_deadline_.set(context_.settings.stall_time, [self = shared_from_this()] { self->drop_slow(); });
    stream_->write(std::string_view(in_flight_).substr(sent_),
                   [self = shared_from_this()](std::size_t bytes, bool ok) {
                       if (self->state_ == State::Closed) return;
                       if (!ok) return self->drop();
                       self->written(bytes);
                   });
}

void Connection::written(std::size_t bytes) {
    sent_ += bytes;
    if (sent_ < in_flight_.size()) return write_some();
    writing_ = false;
    write_deadline_.cancel();
    if (!out_.empty()) return write_out();
    if (last_) return response_written();
    flush();
}

void Connection::response_written() {
    last_ = false;
    if (client_ended_) return drop();
    if (!keep_alive_ || context_.stopping) return linger();
    next_request();
}

// Closes only once the client has closed its side, or after a while: data that arrives at a closed socket
// would make the kernel discard the response.
void Connection::linger() {
    state_ = State::Lingering;
    in_.clear();
    stream_->end_writing();
    read_deadline_.set(linger_time, [self = shared_from_this()] { self->drop(); });
    read();
}

void Connection::drop_slow() {
    ++context_.counters.slow_clients;
    stream_->reset();
    drop();
}

}  // namespace voltpile::http
