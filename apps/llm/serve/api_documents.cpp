// What can be read without a request to the model.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/build_info.h"
#include "http/metric_writer.h"
#include "llm/serve/api.h"
#include "llm/serve/api_error.h"
#include "llm/serve/openapi.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

http::Response document(const ordered_json& json) {
    http::Response response;
    // Names of tokens in GGUF files are any bytes.
    response.body = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    return response;
}

// name: of the model or of one of its adapters.
ordered_json model_object(const ServedModel& model, const std::string& name) {
    ordered_json object{{"id", name},
                        {"object", "model"},
                        {"created", model.created},
                        {"owned_by", "voltpile"},
                        {"max_model_len", model.context},
                        {"vocab_size", model.vocabulary}};
    if (name != model.name) object["parent"] = model.name;
    return object;
}

ordered_json model_list(const ServedModel& model) {
    ordered_json list = ordered_json::array({model_object(model, model.name)});
    for (const std::string& adapter : model.adapters) list.push_back(model_object(model, adapter));
    return {{"object", "list"}, {"data", std::move(list)}};
}

// What clients need to make prompts of tokens themselves, under the names of tokenizer_config.json.
ordered_json tokenizer_info(const LanguageModel& model, int context) {
    const Tokenizer& tokenizer = model.tokenizer();
    const auto text = [&](std::optional<TokenId> token) {
        return token ? ordered_json(tokenizer.bytes_of(*token)) : ordered_json();
    };
    ordered_json info{{"bos_token", text(tokenizer.vocabulary().bos)},
                      {"eos_token", text(tokenizer.vocabulary().eos)},
                      {"model_max_length", context}};
    if (model.has_chat_template()) info["chat_template"] = model.chat_template().source();
    return info;
}

// status: if all replicas work. 503 once none does; the server then ends.
http::Response state_document(const char* status, const SharedQueue& queue) {
    const std::vector<ReplicaState> replicas = queue.replicas();
    const auto working = std::ranges::count(replicas, true, &ReplicaState::works);
    http::Response response = document({{"status", working == std::ssize(replicas) ? status : "degraded"},
                                        {"replicas", replicas.size()},
                                        {"working_replicas", working}});
    if (working == 0) response.status = 503;
    return response;
}

}  // namespace

void Api::add_documents(http::Router& router) {
    const auto add = [&](const char* path, std::function<http::Response(const http::Request&)> make) {
        router.add("GET", path, [make = std::move(make)](const http::Request& request, http::Reply reply) {
            reply.send(make(request));
        });
    };
    const ServedModel& model = settings_.model;
    add("/health", [this](const http::Request&) { return state_document("ok", queue_); });
    add("/ready", [this](const http::Request&) {
        if (!draining_) return state_document("ready", queue_);
        return ApiError(503, "the server is stopping", {}, "stopping")
            .retry_after(std::max(settings_.grace_seconds, 1))
            .response();
    });
    add("/version", [](const http::Request&) { return document({{"version", build_info().version}}); });
    add("/v1/models", [&model](const http::Request&) { return document(model_list(model)); });
    add("/v1/models/*", [&model](const http::Request& request) {
        const std::string name = request.path.substr(std::string_view("/v1/models/").size());
        if (name == model.name || std::ranges::find(model.adapters, name) != model.adapters.end())
            return document(model_object(model, name));
        return unknown_model(name, model).response();
    });
    add("/tokenizer_info",
        [info = tokenizer_info(model_, model.context)](const http::Request&) { return document(info); });
    add("/openapi.json", [text = openapi_json(model)](const http::Request&) {
        http::Response response;
        response.body = text;
        return response;
    });
    router.add("GET", "/metrics", [this](const http::Request&, http::Reply reply) {
        http::Response response;
        response.content_type = http::kMetricsType;
        if (const http::ServerCounters* server = server_)
            response.body = metrics_.text(queue_.replicas(), *server);
        if (!settings_.gpus) return reply.send(std::move(response));
        // Shared, because a std::function must be copyable.
        const auto both =
            std::make_shared<std::pair<http::Response, http::Reply>>(std::move(response), std::move(reply));
        settings_.gpus->with_latest([both, labels = metrics_.labels()](const std::vector<RankGpu>& gpus) {
            both->first.body += gpu_metrics(gpus, labels);
            both->second.send(std::move(both->first));
        });
    });
}

}  // namespace voltpile::llm
