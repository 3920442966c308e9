#include "http/client_connection.h"

#include <fmt/format.h>

#include <utility>

namespace voltpile::http {

ClientConnection::ClientConnection(EventLoop& loop, std::unique_ptr<Stream> stream,
                                   std::chrono::milliseconds silence,
                                   std::function<void(ClientConnection*)> closed)
    : stream_(std::move(stream)), silence_(silence), closed_(std::move(closed)), deadline_(loop) {}

void ClientConnection::send(std::string request, ResponseEvents events, std::function<void(End)> ended) {
    out_ = std::move(request);
    sent_ = 0;
    in_.clear();
    parser_ = std::make_unique<ResponseParser>();
    events_ = std::move(events);
    ended_ = std::move(ended);
    untouched_ = true;
    head_passed_ = false;
    watch();
    if (opened_) return write();
    stream_->open([self = shared_from_this()](std::size_t, bool ok) {
        if (self->closed_by_us_) return;
        if (!ok) return self->end("cannot connect: " + self->stream_->error());
        self->opened_ = true;
        self->write();
        self->read();
    });
}

void ClientConnection::write() {
    stream_->write(std::string_view(out_).substr(sent_),
                   [self = shared_from_this()](std::size_t bytes, bool ok) {
                       if (self->closed_by_us_ || !ok)
                           return;  // the reader learns why, and perhaps has an answer
                       self->sent_ += bytes;
                       if (self->sent_ < self->out_.size()) self->write();
                   });
}

// Reads on while the connection is idle: that is how it notices that the server closes it.
void ClientConnection::read() {
    if (std::exchange(reading_, true)) return;
    stream_->read(chunk_, [self = shared_from_this()](std::size_t bytes, bool ok) {
        self->reading_ = false;
        if (self->closed_by_us_) return;
        if (ok) {
            self->received(bytes);
            if (!self->closed_by_us_) self->read();
            return;
        }
        if (!self->parser_) return self->closed_(self.get());
        self->parser_->end_of_stream();
        self->end(self->parser_->error());
    });
}

void ClientConnection::received(std::size_t bytes) {
    if (!parser_) {  // nobody asked
        close();
        return closed_(this);
    }
    untouched_ = false;
    watch();
    in_.append(chunk_.data(), bytes);
    in_.erase(0, parser_->parse(in_));
    if (parser_->head_done() && !std::exchange(head_passed_, true) && events_.head)
        events_.head(parser_->status(), parser_->header("Content-Type"));
    if (const std::string body = parser_->take_body(); !body.empty() && events_.body) events_.body(body);
    if (closed_by_us_) return;
    if (parser_->done() || !parser_->error().empty()) end(parser_->error());
}

void ClientConnection::end(std::string error) {
    const auto self = shared_from_this();
    deadline_.cancel();
    End end{std::move(error), false, untouched_, opened_};
    end.reusable = end.error.empty() && parser_->keep_alive() && in_.empty() && sent_ == out_.size();
    parser_ = nullptr;
    events_ = {};
    if (!end.reusable) close();
    std::exchange(ended_, nullptr)(std::move(end));
}

void ClientConnection::close() {
    closed_by_us_ = true;
    deadline_.cancel();
    stream_->close();
}

void ClientConnection::watch() {
    deadline_.set(silence_, [self = shared_from_this()] {
        self->end(fmt::format("nothing arrived for {} s",
                              std::chrono::duration_cast<std::chrono::seconds>(self->silence_).count()));
    });
}

}  // namespace voltpile::http
