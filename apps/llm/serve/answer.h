// One API request in flight: the engine's callbacks on one side, the client's Reply on the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "http/reply.h"
#include "llm/engine/request_queue.h"
#include "llm/serve/answer_format.h"

namespace voltpile::llm {

class Answer : public std::enable_shared_from_this<Answer> {
  public:
    // How all of it ended.
    struct End {
        int status = 200;   // of the response
        std::string error;  // what the client was told; empty: nothing is wrong
        bool left = false;  // the client was gone before the response was complete
        std::span<const Outcome> outcomes;
        AnswerUsage usage;
    };
    struct Plan {
        std::vector<Request> requests;  // with their ids; one for each answer
        int prompts = 1;                // answers of the same prompt follow each other
        bool stream = false;
        std::string form_field;  // of the request, from which the requests' grammar comes
        std::unique_ptr<AnswerFormat> format;
        // Called once for each request: with its outcome on the engine's thread, or with nullptr if the queue
        // did not accept it.
        std::function<void(std::int64_t id, const Outcome* outcome)> on_ended;
        // Called once, after all requests have ended.
        std::function<void(const End&)> on_all_ended;
    };

    // Submits the requests; the reply gets the answers. If the client goes away, the requests are cancelled.
    // queue: must outlive all calls of the reply's on_gone. Never throws: the reply gets errors.
    static void start(Plan plan, http::Reply reply, RequestQueue& queue);

  private:
    Answer(Plan plan, http::Reply reply, RequestQueue& queue);

    void submit();
    void cancel_all() const;
    void delta(int number, const Delta& delta);
    void ended(int number, Outcome outcome);
    void settle(int number, bool last);
    void count_ended(std::size_t requests);
    void fail(const ApiError& error);
    void begin_stream();
    void finish();
    AnswerUsage usage() const;

    RequestQueue& queue_;
    std::vector<std::int64_t> ids_;
    std::mutex mutex_;  // of all below
    Plan plan_;
    http::Reply reply_;
    std::vector<Outcome> outcomes_;
    std::vector<bool> begun_;  // begin_event() was sent
    std::size_t left_;         // requests that have not ended
    bool streaming_ = false;   // the head was sent
    bool done_ = false;        // the reply has its end
    End end_;
};

}  // namespace voltpile::llm
