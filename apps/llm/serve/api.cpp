#include "llm/serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/unix_time.h"

namespace voltpile::llm {
namespace {

constexpr int busy_retry_seconds = 1;

// Health checks and the like say nothing that a key should protect.
bool needs_key(const http::Request& request) {
    return request.path != "/health" && request.path != "/ready" && request.path != "/" &&
           !request.path.starts_with("/page/");
}

bool is_json(std::string_view content_type) {
    return http::same_ignoring_case(content_type.substr(0, content_type.find(';')), "application/json");
}

std::string_view key_text(const http::Request& request) {
    const std::string_view key = http::bearer_key(request.header("Authorization"));
    return key.empty() ? request.header("X-Api-Key") : key;
}

}  // namespace

Api::Api(ApiSettings settings, const LanguageModel& model, SharedQueue& queue)
    : settings_(std::move(settings)),
      model_(model),
      queue_(queue),
      metrics_(settings_.model.name),
      log_(settings_.log, settings_.log_prompts, stdout),
      next_seed_(std::uint64_t{std::random_device{}()} << 32 | std::random_device{}()),
      room_(settings_.requests) {}

http::Router Api::routes() {
    http::Router router;
    add_post(router, "/v1/chat/completions", &Api::chat);
    add_post(router, "/v1/completions", &Api::complete);
    add_post(router, "/v1/responses", &Api::respond);
    add_post(router, "/v1/messages", &Api::message);
    add_post(router, "/tokenize", &Api::tokenize);
    add_post(router, "/detokenize", &Api::detokenize);
    add_documents(router);
    return router;
}

void Api::add_post(http::Router& router, const char* path,
                   void (Api::*work)(const http::Request&, http::Reply&)) {
    router.add("POST", path, [this, work](http::Request request, http::Reply reply) {
        // Shared, because a std::function must be copyable.
        const auto both =
            std::make_shared<std::pair<http::Request, http::Reply>>(std::move(request), std::move(reply));
        work_.add([this, work, both] {
            try {
                (this->*work)(both->first, both->second);
            } catch (const ApiError& error) {
                both->second.send(refuse(both->first, error));
            } catch (const std::exception& error) {
                const bool wrong =
                    dynamic_cast<const JobError*>(&error) != nullptr;  // of tokenizer or template
                both->second.send(refuse(both->first, ApiError(wrong ? 400 : 500, error.what())));
            }
        });
    });
}

std::optional<std::size_t> Api::key_of(const http::Request& request) const {
    return settings_.keys.find(key_text(request));
}

std::optional<http::Response> Api::admit(const http::Request& request) const {
    if (!settings_.keys.empty() && needs_key(request) && !key_of(request))
        return refuse(request,
                      ApiError(401,
                               key_text(request).empty()
                                   ? "this server needs an API key: send \"Authorization: Bearer KEY\""
                                   : "this API key is not known here",
                               {}, "invalid_api_key"));
    if (request.method != "POST") return std::nullopt;
    if (draining_)
        return refuse(request,
                      ApiError(503, "the server is stopping and takes no new requests", {}, "stopping")
                          .retry_after(std::max(settings_.grace_seconds, 1)));
    // Pages of other origins can send other types without asking first.
    if (!is_json(request.header("Content-Type")))
        return refuse(request,
                      ApiError(415, "the body must be JSON: send \"Content-Type: application/json\""));
    return std::nullopt;
}

void Api::cancel_all() {
    for (const std::int64_t id : room_.ids()) queue_.cancel(id);
}

void Api::end_waits() {
    if (settings_.gpus) settings_.gpus->end_waits();
}

ServeLoad Api::load() const {
    const EngineCounters now = queue_.counters();
    return {draining_, now.scheduler.running, now.scheduler.waiting, now.requests, now.tokens_out};
}

std::uint64_t Api::new_seed() {
    return next_seed_ += 0xD1B54A32D192ED03;  // odd, so that seeds repeat after 2^64
}

void Api::take_room(std::span<const Request> requests) {
    const std::optional<int> count = room_.take(requests);
    if (!count) return;
    const http::ApiKeys& keys = settings_.keys;
    const std::string whose =
        keys.empty()
            ? "the server"
            : fmt::format("the API key \"{}\"", keys.name(static_cast<std::size_t>(requests.front().owner)));
    throw ApiError(429,
                   fmt::format("{} has {} requests here and may have at most {}: try again later", whose,
                               *count, room_.most()),
                   {}, "queue_full")
        .retry_after(busy_retry_seconds);
}

AnswerHead Api::head_of(const GenerationFields& fields, const http::Request& request, std::string_view prefix,
                        const Prompts& prompts) const {
    const std::string& lora = fields.settings.lora;
    AnswerHead head{fmt::format("{}-{}", prefix, request.id), lora.empty() ? settings_.model.name : lora,
                    static_cast<std::int64_t>(unix_time()), fields.include_usage, fields.logprobs};
    head.top = fields.settings.top_n;
    if (fields.prompt_logprobs) head.prompt_scores = {prompts, *fields.prompt_logprobs};
    return head;
}

std::vector<std::int32_t> Api::encode(ChatRequest& chat) const {
    ChatPrompt prompt = model_.encode(chat.messages, chat.options);
    if (settings_.model.tool_format == ToolFormat::Harmony) prompt.thoughts = Thoughts::Channels;
    expect_thoughts(chat, prompt.thoughts);
    return std::move(prompt.tokens);
}

AnswerHead Api::head_of(const ChatRequest& chat, const http::Request& request, std::string_view prefix,
                        const Prompts& prompts) {
    AnswerHead head = head_of(chat.fields, request, prefix, prompts);
    head.calls = {chat.tool_format, new_seed(), chat.thoughts};
    return head;
}

void Api::answer(const GenerationFields& fields, const Prompts& prompts, std::unique_ptr<AnswerFormat> format,
                 bool continues, const http::Request& http_request, http::Reply& reply) {
    const auto too_long = [&](std::size_t tokens, const std::string& more) {
        return ApiError(400, fmt::format("the prompt has {} tokens{}", tokens, more), {},
                        "context_length_exceeded");
    };
    const int context = settings_.model.context;
    const std::optional<std::size_t> key = key_of(http_request);
    Answer::Plan plan;
    for (const auto& prompt : prompts) {
        const int wanted = fields.settings.max_tokens;
        if (std::ssize(prompt) >= context)
            throw too_long(prompt.size(),
                           fmt::format(", which leaves no room for an answer in a context of {}", context));
        if (std::ssize(prompt) + wanted > context)
            throw too_long(prompt.size(),
                           fmt::format(" and max_tokens is {}, but the context has {}", wanted, context));
        for (int i = 0; i < fields.n; ++i) {
            Request request;
            static_cast<RequestSettings&>(request) = settings_of_answer(fields.settings, i);
            request.id = next_id_++;
            if (key) {
                request.owner = static_cast<int>(*key);
                request.weight = settings_.keys.weight(*key);
            }
            request.prompt = prompt;
            request.continues = continues;
            request.score_prompt = fields.score_prompt;
            request.top_n = std::max(request.top_n, fields.prompt_logprobs.value_or(0));
            request.stop_tokens = fields.stop_tokens;
            plan.requests.push_back(std::move(request));
        }
    }
    take_room(plan.requests);
    plan.prompts = static_cast<int>(prompts.size());
    plan.stream = fields.stream;
    plan.form_field = fields.form_field;
    plan.format = std::move(format);
    plan.on_ended = [this](std::int64_t id, const Outcome* outcome) {
        if (outcome) metrics_.observe(*outcome);
        room_.give_back(id);
    };
    if (log_.wanted())
        plan.on_all_ended = [this, record = record_of(http_request),
                             begin = std::chrono::steady_clock::now()](const Answer::End& end) mutable {
            write_log(record, begin, end);
        };
    Answer::start(std::move(plan), std::move(reply), queue_);
}

}  // namespace voltpile::llm
