#include "http/reply.h"

#include "http/outgoing.h"

namespace voltpile::http {

Reply::Reply(std::shared_ptr<Outgoing> outgoing) : outgoing_(std::move(outgoing)) {}

Reply::~Reply() {
    if (outgoing_) outgoing_->abort();
}

void Reply::send(Response response) {
    outgoing_->begin(std::move(response), true);
}

void Reply::begin(Response head) {
    outgoing_->begin(std::move(head), false);
}

bool Reply::write(std::string_view piece) {
    return outgoing_->write(piece);
}

void Reply::end() {
    outgoing_->end();
}

void Reply::on_gone(std::function<void()> call) {
    outgoing_->on_gone(std::move(call));
}

bool Reply::gone() const {
    return outgoing_->gone();
}

}  // namespace voltpile::http
