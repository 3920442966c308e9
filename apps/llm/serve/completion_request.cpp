#include "llm/serve/completion_request.h"

#include <fmt/format.h>

#include "llm/engine/request_fields.h"

namespace voltpile::llm {
namespace {

constexpr int usual_completion_tokens = 16;  // OpenAI's default

std::vector<std::int32_t> prompt_tokens(FieldReader& fields, const nlohmann::ordered_json& list,
                                        const ServedModel& model) {
    for (const nlohmann::ordered_json& each : list)
        if (!token_number(each, model.vocabulary))
            fields.fail("prompt", fmt::format("has {}, but tokens of this model are 0 to {}", each.dump(),
                                              model.vocabulary - 1));
    return list.get<std::vector<std::int32_t>>();
}

void read_prompts(FieldReader& fields, const ServedModel& model, CompletionRequest& request) {
    const nlohmann::ordered_json* prompt = fields.find("prompt");
    if (!prompt) fields.fail("prompt", "is missing");
    const auto add = [&](const nlohmann::ordered_json& one) {
        if (one.is_string())
            request.prompts.emplace_back(one.get<std::string>());
        else if (one.is_array())
            request.prompts.emplace_back(prompt_tokens(fields, one, model));
        else
            fields.fail("prompt", "must be a text, a list of texts, a list of tokens, or a list of these");
    };
    const bool several = prompt->is_array() && !prompt->empty() && !prompt->front().is_number();
    if (several)
        for (const nlohmann::ordered_json& one : *prompt) add(one);
    else
        add(*prompt);
    const auto answers = std::ssize(request.prompts) * request.fields.n;
    if (answers > kMostAnswers)
        fields.fail("prompt", fmt::format("with \"n\" makes {} answers; at most {} are supported", answers,
                                          kMostAnswers));
}

}  // namespace

CompletionRequest read_completion_request(std::string_view body, const ServedModel& model,
                                          std::uint64_t seed) {
    const nlohmann::ordered_json object = parse_body(body);
    FieldReader fields(object);
    CompletionRequest request;
    request.fields = read_generation_fields(fields, model, seed);
    read_prompts(fields, model, request);
    request.echo = fields.boolean("echo").value_or(false);
    const auto most = fields.integer("max_tokens", request.echo ? 0 : kLeastNewTokens, kMostNewTokens);
    request.only_prompt = most == 0;
    // The engine draws at least one token, which the answer then leaves out.
    request.fields.settings.max_tokens =
        request.only_prompt ? 1 : static_cast<int>(most.value_or(usual_completion_tokens));
    if (const auto top = fields.integer("logprobs", 0, kMostTop)) {
        request.fields.logprobs = true;
        request.fields.settings.top_n = static_cast<int>(*top);
    }
    const bool scored_echo = request.echo && request.fields.logprobs;
    request.fields.score_prompt = request.fields.score_prompt || scored_echo;
    if (scored_echo && request.fields.stream)
        fields.fail("stream", "is not supported together with \"echo\" and \"logprobs\"");
    fields.only("suffix", "");
    fields.only("add_special_tokens", true);
    fields.finish();
    return request;
}

}  // namespace voltpile::llm
