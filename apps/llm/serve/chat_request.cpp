#include "llm/chat/chat_json.h"
#include "llm/engine/request_fields.h"
#include "llm/grammar/tool_grammar.h"
#include "llm/serve/api_error.h"
#include "llm/serve/completion_request.h"
#include "llm/serve/tools_request.h"

namespace voltpile::llm {
namespace {

template <class Read>
auto as_api_error(const Read& read) {
    try {
        return read();
    } catch (const ChatJsonError& error) {
        throw ApiError(400, error.what(), error.place());
    }
}

void read_length(FieldReader& fields, RequestSettings& settings) {
    const auto old_name = fields.integer("max_tokens", kLeastNewTokens, kMostNewTokens);
    const auto new_name = fields.integer("max_completion_tokens", kLeastNewTokens, kMostNewTokens);
    if (old_name && new_name && *old_name != *new_name)
        fields.fail("max_tokens", "contradicts \"max_completion_tokens\": send one of them");
    settings.max_tokens = static_cast<int>(new_name.value_or(old_name.value_or(0)));
}

void read_top(FieldReader& fields, GenerationFields& read) {
    read.logprobs = fields.boolean("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, kMostTop);
    if (top && *top > 0 && !read.logprobs) fields.fail("top_logprobs", "needs \"logprobs\": true");
    read.settings.top_n = static_cast<int>(top.value_or(0));
}

}  // namespace

void expect_thoughts(ChatRequest& request, Thoughts prompt) {
    std::optional<GrammarSource>& source = request.fields.settings.grammar;
    request.thoughts = prompt;
    request.fields.settings.channels = prompt == Thoughts::Channels;
    if (!source) return;
    if (prompt == Thoughts::Channels) {  // these grammars have room for thoughts
        source->in_channels = source->kind != GrammarSource::Kind::ToolCalls;
        return;
    }
    if (source->kind == GrammarSource::Kind::ToolCalls) {
        ToolGrammar grammar = read_tool_grammar(source->text);
        if (!grammar.required) {
            grammar.thinks = prompt == Thoughts::Open;
            source = tool_grammar_source(grammar);
            return;
        }
    }
    request.thoughts = Thoughts::None;
}

void read_effort(FieldReader& fields, std::string_view name, const ServedModel& model, ChatRequest& request) {
    const auto effort = fields.text(name);
    if (!effort) return;
    if (!model.takes_effort)
        fields.fail(name, "is not possible: the model's chat template has no reasoning effort");
    if (effort != "low" && effort != "medium" && effort != "high")
        fields.fail(name, "must be low, medium or high");
    request.options.arguments.emplace_back("reasoning_effort", *effort);
}

std::vector<ChatMessage> read_messages(FieldReader& fields) {
    const nlohmann::ordered_json* list = fields.find("messages");
    if (!list) fields.fail("messages", "is missing");
    return as_api_error([&] { return messages_from_json(*list); });
}

std::string read_content(FieldReader& fields, const std::string& path, std::string_view name,
                         std::initializer_list<std::string_view> types) {
    const nlohmann::ordered_json* content = fields.find(name);
    if (!content) fields.fail(name, "is missing");
    return as_api_error([&] { return text_of_content(*content, path + std::string(name), types); });
}

ChatRequest read_chat_request(std::string_view body, const ServedModel& model, std::uint64_t seed) {
    const nlohmann::ordered_json object = parse_body(body);
    FieldReader fields(object);
    ChatRequest request;
    request.fields = read_generation_fields(fields, model, seed);
    request.messages = read_messages(fields);
    read_length(fields, request.fields.settings);
    read_top(fields, request.fields);
    read_effort(fields, "reasoning_effort", model, request);
    if (const nlohmann::ordered_json* options = fields.find("chat_template_kwargs")) {
        if (!options->is_object()) fields.fail("chat_template_kwargs", "must be an object");
        FieldReader inner(*options, "chat_template_kwargs.");
        if (const auto thinking = inner.boolean("enable_thinking"))
            request.options.arguments.emplace_back("enable_thinking", *thinking);
        read_effort(inner, "reasoning_effort", model, request);
        inner.finish();
    }
    read_chat_tools(fields, model, request);
    fields.only("functions", nlohmann::ordered_json::array());
    fields.only("function_call", "none");
    fields.only("modalities", nlohmann::ordered_json::array({"text"}));
    fields.only("add_generation_prompt", true);
    fields.only("continue_final_message", false);
    fields.only("echo", false);
    fields.finish();
    return request;
}

}  // namespace voltpile::llm
