#include "llm/bench/serve_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/seconds_since.h"
#include "llm/bench/completion_stream.h"

namespace voltpile::llm {
namespace {

class ServeLoad {
  public:
    ServeLoad(const ServeTarget& target, const LoadSettings& settings,
              const std::vector<std::string>& expected, const std::function<void(int)>& progress)
        : target_(target),
          settings_(settings),
          expected_(expected),
          progress_(progress),
          load_(make_load(settings, target.vocabulary)),
          client_(loop_, target.client),
          next_arrival_(loop_) {
        answers_.texts.resize(load_.size());
    }

    ServeAnswers run() {
        begin_ = Clock::now();
        loop_.post([this] {
            if (settings_.clients == 0) return send_arrived();
            const auto clients = std::min(load_.size(), static_cast<std::size_t>(settings_.clients));
            while (next_ < clients) send(next_++, seconds_since(begin_));
        });
        loop_.run();
        LoadResult& result = answers_.result;
        result.seconds = seconds_since(begin_) - (settings_.clients == 0 ? load_.front().seconds : 0);
        summarize(result);
        return std::move(answers_);
    }

  private:
    using Clock = std::chrono::steady_clock;

    struct Flight {
        std::size_t number = 0;
        RequestTimes times;
        int status = 0;
        std::string content_type;
        std::string refusal;  // the body, if it is no stream
        CompletionStream stream;

        bool streams() const { return status == 200 && content_type.starts_with("text/event-stream"); }
    };

    void send_arrived() {
        for (; next_ < load_.size(); ++next_) {
            const double due = load_[next_].seconds - seconds_since(begin_);
            if (due > 0)
                return next_arrival_.set(std::chrono::microseconds(static_cast<std::int64_t>(1e6 * due)),
                                         [this] { send_arrived(); });
            send(next_, load_[next_].seconds);
        }
    }

    std::string body_of(const Request& request) const {
        return nlohmann::json{{"model", target_.model},
                              {"prompt", request.prompt},
                              {"max_tokens", request.max_tokens},
                              {"temperature", 0},
                              {"ignore_eos", true},
                              {"stream", true},
                              {"stream_options", {{"include_usage", true}}}}
            .dump();
    }

    // arrival_s: counts from then.
    void send(std::size_t number, double arrival_s) {
        const auto flight = std::make_shared<Flight>();
        flight->number = number;
        flight->times.id = load_[number].request.id;
        flight->times.arrival_s = arrival_s;
        http::ClientRequest request{"POST", target_.path + "/completions", target_.headers(),
                                    body_of(load_[number].request)};
        request.headers.push_back({"Content-Type", "application/json"});
        client_.send(request, {[flight](int status, const std::string& content_type) {
                                   flight->status = status;
                                   flight->content_type = content_type;
                               },
                               [this, flight](std::string_view piece) {
                                   if (!flight->streams())
                                       flight->refusal += piece;
                                   else if (flight->stream.push(piece))
                                       flight->times.tokens_s.push_back(seconds_since(begin_));
                               },
                               [this, flight](const std::string& error) { ended(*flight, error); }});
    }

    // Returns what is wrong with an answer that has ended; empty: nothing.
    std::string failure_of(const Flight& flight, const std::string& error) const {
        if (!error.empty()) return error;
        if (flight.status != 200)
            return fmt::format("status {}: {}", flight.status, message_of_error(flight.refusal));
        if (!flight.streams())
            return fmt::format("status 200, but no stream of events: {}", message_of_error(flight.refusal));
        if (!flight.stream.error().empty()) return flight.stream.error();
        if (!flight.stream.done()) return "the stream ended before [DONE]";
        if (!expected_.empty() && flight.stream.text() != expected_[flight.number % expected_.size()])
            return "the text differs from the one that the prompt got alone";
        return {};
    }

    void ended(Flight& flight, const std::string& error) {
        if (std::string failure = failure_of(flight, error); !failure.empty()) {
            answers_.result.errors.push_back(std::move(failure));
        } else {
            flight.times.tokens_in = flight.stream.prompt_tokens();
            flight.times.tokens_out = flight.stream.tokens();
            answers_.result.requests.push_back(std::move(flight.times));
            answers_.texts[flight.number] = flight.stream.text();
        }
        progress_(++ended_);
        if (settings_.clients > 0 && next_ < load_.size()) send(next_++, seconds_since(begin_));
        if (static_cast<std::size_t>(ended_) < load_.size()) return;
        client_.close();
        loop_.finish();
    }

    const ServeTarget& target_;
    const LoadSettings& settings_;
    const std::vector<std::string>& expected_;
    const std::function<void(int)>& progress_;
    std::vector<Arrival> load_;
    http::EventLoop loop_;
    http::Client client_;
    http::Deadline next_arrival_;
    Clock::time_point begin_;
    std::size_t next_ = 0;
    int ended_ = 0;
    ServeAnswers answers_;
};

}  // namespace

std::string ServeTarget::url(const std::string& endpoint) const {
    http::Url url = client.server;
    url.path = path + endpoint;
    return url.text();
}

std::vector<http::Header> ServeTarget::headers() const {
    if (key.empty()) return {};
    return {{"Authorization", "Bearer " + key}};
}

ServeAnswers run_serve_load(const ServeTarget& target, const LoadSettings& settings,
                            const std::vector<std::string>& expected,
                            const std::function<void(int)>& progress) {
    http::raise_descriptor_limit();
    return ServeLoad(target, settings, expected, progress).run();
}

}  // namespace voltpile::llm
