#include "http/connection.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace voltpile::http {
namespace {

constexpr std::size_t longest_id = 128;

// A request id that can be logged and sent back.
bool usable_id(std::string_view id) {
    return !id.empty() && id.size() <= longest_id && std::ranges::all_of(id, [](unsigned char c) {
        return c < 0x80 && (std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == ':');
    });
}

}  // namespace

Connection::Connection(ConnectionContext& context, std::unique_ptr<Stream> stream, std::string peer)
    : context_(context),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      read_deadline_(context.loop),
      write_deadline_(context.loop),
      parser_(context.settings.header_bytes, context.settings.body_bytes) {}

void Connection::open(std::function<void()> then) {
    read_deadline_.set(context_.settings.header_time, [self = shared_from_this()] { self->drop(); });
    stream_->open([self = shared_from_this(), then = std::move(then)](std::size_t, bool ok) {
        if (self->state_ == State::Closed) return;
        if (!ok) return self->drop();
        then();
    });
}

void Connection::start() {
    open([this] {
        state_ = State::Waiting;  // a new connection has as much time for its headers as any request
        read();
    });
}

void Connection::start_refused(int status, std::string message) {
    open([this, status, message = std::move(message)] {
        refuse(status, message);
        read();
    });
}

void Connection::read() {
    if (reading_ || client_ended_ || state_ == State::Closed) return;
    // The next requests of a client that does not wait for responses: read on when they are due.
    if ((state_ == State::Running || state_ == State::Refusing) &&
        in_.size() >= context_.settings.header_bytes)
        return;
    reading_ = true;
    stream_->read(chunk_, [self = shared_from_this()](std::size_t bytes, bool ok) {
        self->reading_ = false;
        if (self->state_ == State::Closed) return;
        if (!ok) return self->ended_by_client();
        self->received(bytes);
        self->read();
    });
}

void Connection::received(std::size_t bytes) {
    if (state_ == State::Lingering || (state_ == State::Refusing && !keep_alive_))
        return;  // nobody will read it
    in_.append(chunk_.data(), bytes);
    if (state_ != State::Running && state_ != State::Refusing) advance();
}

// Many clients that are done with their requests are done with the responses as well.
void Connection::ended_by_client() {
    client_ended_ = true;
    if (last_) return;  // the response is on its way; a client may have closed its side only
    if (state_ == State::Head) return refuse(400, "the request ends within its headers");
    if (state_ == State::Body) return refuse(400, "the request ends before its body is complete");
    drop();
}

void Connection::advance() {
    if (in_.empty()) return;
    if (state_ == State::Waiting) {
        state_ = State::Head;
        read_deadline_.set(context_.settings.header_time, [self = shared_from_this()] {
            self->refuse(408, "the headers did not arrive in time");
        });
    }
    while (true) {
        const std::size_t used = parser_.parse(in_);
        in_.erase(0, used);
        if (parser_.refusal().status != 0) return refuse(parser_.refusal().status, parser_.refusal().message);
        if (parser_.head_done() && !std::exchange(head_checked_, true) && !check_head()) return;
        if (parser_.done()) return dispatch();
        if (used == 0 || in_.empty()) return;
    }
}

bool Connection::check_head() {
    const Request& request = parser_.request();
    const std::string_view id = request.header("X-Request-Id");
    id_ = usable_id(id) ? std::string(id) : context_.new_request_id();
    parser_.identify(peer_, id_);
    origin_ = request.header("Origin");
    path_ = request.path;
    head_only_ = request.method == "HEAD";
    chunks_ = parser_.chunks();
    keep_alive_ = parser_.keep_alive();

    if (answer_preflight(request)) return false;
    const Router::Route route = context_.router.find(request.method, request.path);
    if (route.allowed.empty()) {
        refuse(404, fmt::format("there is no {}", request.path));
        return false;
    }
    if (!route.handler) {
        refuse(405,
               fmt::format("{} does not take {}; it takes {}", request.path, request.method, route.allowed),
               {{"Allow", route.allowed}});
        return false;
    }
    handler_ = route.handler;
    if (context_.settings.admit)
        if (auto refused = context_.settings.admit(request)) {
            respond(std::move(*refused), !parser_.done());
            return false;
        }
    if (!parser_.done()) {
        state_ = State::Body;
        read_deadline_.set(context_.settings.body_time, [self = shared_from_this()] {
            self->refuse(408, "the body did not arrive in time");
        });
        if (parser_.expects_continue()) {
            out_ += "HTTP/1.1 100 Continue\r\n\r\n";
            write_out();
        }
    }
    return true;
}

void Connection::dispatch() {
    state_ = State::Running;
    read_deadline_.cancel();
    const auto wake = [weak = weak_from_this(), &loop = context_.loop] {
        loop.post([weak] {
            if (const auto self = weak.lock()) self->flush();
        });
    };
    outgoing_ = std::make_shared<Outgoing>(wake, context_.settings.stream_bytes);
    head_sent_ = false;
    try {
        (*handler_)(parser_.take(), Reply(outgoing_));
    } catch (const std::exception& error) {  // the lost Reply answers 500
        spdlog::error("{} (request {}): {}", path_, id_, error.what());
    }
}

void Connection::next_request() {
    state_ = State::Waiting;
    parser_ = RequestParser(context_.settings.header_bytes, context_.settings.body_bytes);
    head_checked_ = head_only_ = keep_alive_ = false;
    id_.clear();
    origin_.clear();
    path_.clear();
    handler_ = nullptr;
    read_deadline_.set(context_.settings.idle_time, [self = shared_from_this()] { self->drop(); });
    advance();
    read();
}

void Connection::stop() {
    if (state_ == State::Opening || state_ == State::Waiting) drop();
}

void Connection::drop() {
    if (state_ == State::Closed) return;
    const auto self = shared_from_this();
    state_ = State::Closed;
    read_deadline_.cancel();
    write_deadline_.cancel();
    stream_->close();
    if (outgoing_) std::exchange(outgoing_, nullptr)->lose_client();
    context_.closed(this);
}

}  // namespace voltpile::http
