// The work for each path that takes a request.
#include <nlohmann/json.hpp>
#include <utility>

#include "llm/serve/api.h"
#include "llm/serve/api_error.h"
#include "llm/serve/messages_api.h"
#include "llm/serve/responses_api.h"
#include "llm/serve/tools_request.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

http::Response json_response(const ordered_json& json) {
    http::Response response;
    // Bytes of a token may be part of a character.
    response.body = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    return response;
}

}  // namespace

void Api::chat(const http::Request& request, http::Reply& reply) {
    ChatRequest chat = read_chat_request(request.body, settings_.model, new_seed());
    const Prompts prompts{encode(chat)};
    answer(chat.fields, prompts, chat_format(head_of(chat, request, "chatcmpl", prompts), model_.tokenizer()),
           false, request, reply);
}

void Api::complete(const http::Request& request, http::Reply& reply) {
    const CompletionRequest read = read_completion_request(request.body, settings_.model, new_seed());
    const Tokenizer& tokenizer = model_.tokenizer();
    Prompts prompts;
    std::vector<CompletionEcho> echo;
    for (const auto& prompt : read.prompts) {
        const auto* text = std::get_if<std::string>(&prompt);
        prompts.push_back(text ? tokenizer.encode(*text) : std::get<std::vector<std::int32_t>>(prompt));
        if (!read.echo) continue;
        CompletionEcho one{text ? *text : tokenizer.decode(prompts.back())};
        if (read.fields.logprobs) one.tokens = prompts.back();
        echo.insert(echo.end(), static_cast<std::size_t>(read.fields.n), one);
    }
    answer(read.fields, prompts,
           completion_format(head_of(read.fields, request, "cmpl", prompts), tokenizer, std::move(echo),
                             read.only_prompt),
           true, request, reply);
}

void Api::respond(const http::Request& request, http::Reply& reply) {
    ResponsesRequest read = read_responses_request(request.body, settings_.model, new_seed());
    const Prompts prompts{encode(read.chat)};
    answer(read.chat.fields, prompts,
           responses_format(head_of(read.chat, request, "resp"), std::move(read.settings)), false, request,
           reply);
}

void Api::message(const http::Request& request, http::Reply& reply) {
    ChatRequest chat = read_messages_request(request.body, settings_.model, new_seed());
    const Prompts prompts{encode(chat)};
    answer(chat.fields, prompts,
           messages_format(head_of(chat, request, "msg"), std::ssize(prompts.front()),
                           chat.fields.settings.stop),
           false, request, reply);
}

void Api::tokenize(const http::Request& request, http::Reply& reply) {
    const nlohmann::ordered_json object = parse_body(request.body);
    FieldReader fields(object);
    fields.ignore({"model"});
    const auto prompt = fields.text("prompt");
    const bool has_messages = fields.find("messages") != nullptr;
    if (prompt.has_value() == has_messages)
        fields.fail("prompt", "or \"messages\" must be sent, and not both");
    const Tokenizer& tokenizer = model_.tokenizer();
    std::vector<std::int32_t> tokens;
    if (prompt) {
        const bool add_special = fields.boolean("add_special_tokens").value_or(true);
        tokens = tokenizer.encode(*prompt, {.add_special = add_special});
    } else {
        ChatRequest chat;
        chat.messages = read_messages(fields);
        read_chat_tools(fields, settings_.model, chat);
        chat.options.add_generation_prompt = fields.boolean("add_generation_prompt").value_or(true);
        tokens = encode(chat);
    }
    ordered_json answer{
        {"count", tokens.size()}, {"max_model_len", settings_.model.context}, {"tokens", tokens}};
    if (fields.boolean("return_token_strs").value_or(false))
        for (const std::int32_t token : tokens) answer["token_strs"].push_back(tokenizer.bytes_of(token));
    fields.finish();
    reply.send(json_response(answer));
}

void Api::detokenize(const http::Request& request, http::Reply& reply) {
    const nlohmann::ordered_json object = parse_body(request.body);
    FieldReader fields(object);
    fields.ignore({"model"});
    const nlohmann::ordered_json* list = fields.find("tokens");
    if (!list || !list->is_array()) fields.fail("tokens", "must be a list of tokens");
    std::vector<std::int32_t> tokens;
    for (const nlohmann::ordered_json& each : *list) {
        const std::optional<std::int32_t> token = token_number(each, settings_.model.vocabulary);
        if (!token)
            fields.fail("tokens", "must have whole numbers from 0 to " +
                                      std::to_string(settings_.model.vocabulary - 1));
        tokens.push_back(*token);
    }
    fields.finish();
    reply.send(json_response({{"prompt", model_.tokenizer().decode(tokens, false)}}));
}

}  // namespace voltpile::llm
