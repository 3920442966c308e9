// The HTTP API: reads requests, gives them to the replicas, and answers. OpenAI's paths, and a few more.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "http/api_keys.h"
#include "http/router.h"
#include "http/server.h"
#include "llm/serve/address_file.h"
#include "llm/serve/answer.h"
#include "llm/serve/completion_request.h"
#include "llm/serve/gpu_reports.h"
#include "llm/serve/request_log.h"
#include "llm/serve/request_room.h"
#include "llm/serve/serve_metrics.h"
#include "llm/serve/work_queue.h"
#include "llm/session/language_model.h"
#include "llm/session/shared_queue.h"

namespace voltpile::llm {

struct ApiSettings {
    ServedModel model;
    int requests = 0;       // the most of an API key at once, running and waiting; beyond, 429
    int grace_seconds = 0;  // what clients are told to wait when the server stops
    http::ApiKeys keys;     // empty: nobody needs one
    LogFormat log = LogFormat::None;
    bool log_prompts = false;
    GpuReports* gpus = nullptr;  // that /metrics shows; must outlive the Api
};

class Api {
  public:
    // All references must outlive the Api, which must outlive the server that has its routes.
    Api(ApiSettings settings, const LanguageModel& model, SharedQueue& queue);

    http::Router routes();
    // For http::ServerSettings.
    std::optional<http::Response> admit(const http::Request& request) const;
    // The error in the form of the API that the path belongs to. For http::ServerSettings; writes to the log.
    http::Response refusal(const http::Refused& refused) const;
    // Whose counters /metrics shows.
    void set_counters(const http::ServerCounters& counters) { server_ = &counters; }

    // From now on /ready and new requests get 503. Thread-safe.
    void drain() { draining_ = true; }
    // How busy the server is. Thread-safe.
    ServeLoad load() const;
    // Answers what waits for readings of GPUs; from now on nothing waits. Call it before the server ends.
    void end_waits();
    // Cancels all requests that replicas have: their clients get an error. Thread-safe.
    void cancel_all();

  private:
    using Prompts = std::vector<std::vector<std::int32_t>>;

    // Adds a route for POST whose work is done by the WorkQueue; an ApiError that it throws is the answer.
    void add_post(http::Router& router, const char* path,
                  void (Api::*work)(const http::Request&, http::Reply&));
    void chat(const http::Request& request, http::Reply& reply);
    void complete(const http::Request& request, http::Reply& reply);
    void respond(const http::Request& request, http::Reply& reply);
    void message(const http::Request& request, http::Reply& reply);
    void tokenize(const http::Request& request, http::Reply& reply);
    void detokenize(const http::Request& request, http::Reply& reply);
    void add_documents(http::Router& router);  // api_documents.cpp

    void answer(const GenerationFields& fields, const Prompts& prompts, std::unique_ptr<AnswerFormat> format,
                bool continues, const http::Request& request, http::Reply& reply);
    // Returns the number of the API key that came with a request.
    std::optional<std::size_t> key_of(const http::Request& request) const;
    RequestRecord record_of(const http::Request& request) const;
    http::Response refuse(const http::Request& request, const ApiError& error) const;
    void write_log(RequestRecord& record, std::chrono::steady_clock::time_point begin,
                   const Answer::End& end) const;
    // prompts: those of the request, if the answer may show their log probabilities.
    AnswerHead head_of(const GenerationFields& fields, const http::Request& request, std::string_view prefix,
                       const Prompts& prompts = {}) const;
    // Returns the tokens of the conversation, and sets whether its answer has thoughts.
    std::vector<std::int32_t> encode(ChatRequest& chat) const;
    AnswerHead head_of(const ChatRequest& chat, const http::Request& request, std::string_view prefix,
                       const Prompts& prompts = {});
    // Makes room for these requests of one owner until they end. Throws ApiError (429) if there is none.
    void take_room(std::span<const Request> requests);
    std::uint64_t new_seed();

    ApiSettings settings_;
    const LanguageModel& model_;
    SharedQueue& queue_;
    ServeMetrics metrics_;
    mutable RequestLog log_;
    std::atomic<const http::ServerCounters*> server_ = nullptr;
    std::atomic<bool> draining_ = false;
    std::atomic<std::int64_t> next_id_ = 0;
    std::atomic<std::uint64_t> next_seed_;
    RequestRoom room_;
    WorkQueue work_;
};

}  // namespace voltpile::llm
