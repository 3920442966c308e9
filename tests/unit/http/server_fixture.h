// A server with a few routes, and the replies that tests hold on to.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "http/server.h"
#include "raw_client.h"

namespace voltpile::http {

// Replies on their way from the server's thread to a test.
class HeldReplies {
  public:
    void put(Reply reply) {
        const std::lock_guard lock(mutex_);
        replies_.push_back(std::move(reply));
        changed_.notify_all();
    }
    Reply take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !replies_.empty(); });
        Reply reply = std::move(replies_.front());
        replies_.pop_front();
        return reply;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Reply> replies_;
};

// Counts down to zero; waits for that.
class Countdown {
  public:
    explicit Countdown(int count) : count_(count) {}
    void count() {
        const std::lock_guard lock(mutex_);
        --count_;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return count_ <= 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_;
};

inline Response text_response(std::string body) {
    Response response;
    response.content_type = "text/plain";
    response.body = std::move(body);
    return response;
}

class ServerFixture : public testing::Test {
  protected:
    // GET /hello; POST /echo; GET /held, whose reply held_ gets; GET /lost, never answered; GET /throws;
    // /files/*.
    Router routes() {
        Router router;
        router.add("GET", "/hello", [](const Request&, Reply reply) { reply.send(text_response("hello")); });
        router.add("POST", "/echo",
                   [](Request request, Reply reply) { reply.send(text_response(std::move(request.body))); });
        router.add("GET", "/held", [this](const Request&, Reply reply) { held_.put(std::move(reply)); });
        router.add("GET", "/lost", [](const Request&, const Reply&) {});
        router.add("GET", "/throws",
                   [](const Request&, const Reply&) { throw std::runtime_error("on purpose"); });
        router.add("GET", "/files/*",
                   [](const Request& request, Reply reply) { reply.send(text_response(request.path)); });
        return router;
    }

    void serve(ServerSettings settings = {}) {
        settings.port = 0;
        server_ = std::make_unique<Server>(std::move(settings), routes());
    }

    RawClient client(int receive_buffer = 0) { return RawClient(server_->port(), receive_buffer); }

    HeldReplies held_;
    std::unique_ptr<Server> server_;
};

}  // namespace voltpile::http
