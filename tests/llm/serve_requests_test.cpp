// Requests of the API, read from JSON: what they mean, and how wrong ones are refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "llm/serve/api_error.h"
#include "llm/serve/completion_request.h"

namespace voltpile::llm {
namespace {

const ServedModel kModel{"tiny", 2048, 512, 0};

// Returns the error object of a refused request; fails if it is accepted.
template <class Read>
nlohmann::json refused(Read read, const std::string& body) {
    try {
        read(body, kModel, 1);
    } catch (const ApiError& error) {
        EXPECT_EQ(error.status(), 400) << body;
        nlohmann::json object = nlohmann::json::parse(error.body());
        EXPECT_EQ(object["error"]["type"], "invalid_request_error");
        return object["error"];
    }
    ADD_FAILURE() << "accepted: " << body;
    return {};
}

std::string with_chat(const std::string& field) {
    return R"({"messages":[{"role":"user","content":"Hi"}],)" + field + "}";
}

TEST(ServeRequests, ChatFieldsSetTheRequest) {
    const ChatRequest chat = read_chat_request(R"({"model":"tiny","messages":[
        {"role":"developer","content":"Be brief."},
        {"role":"user","content":[{"type":"text","text":"Hello"},{"type":"text","text":"there"}]},
        {"role":"assistant","content":"Hi","refusal":null,"tool_calls":null}],
        "temperature":0.5,"top_p":0.9,"top_k":-1,"min_p":0.1,"frequency_penalty":0.25,"presence_penalty":-1,
        "repetition_penalty":1.5,"seed":-1,"max_completion_tokens":7,"stop":["a","b"],"n":3,"stream":true,
        "stream_options":{"include_usage":true},"logit_bias":{"5":-100,"2047":1.5},"logprobs":true,"top_logprobs":4,
        "ignore_eos":true,"stop_token_ids":[3],"user":"me","metadata":{"a":1},"store":true,"tools":[],"tool_choice":"none",
        "response_format":{"type":"text"},"chat_template_kwargs":{"enable_thinking":false}})",
                                               kModel, 1);
    ASSERT_EQ(chat.messages.size(), 3U);
    EXPECT_EQ(chat.messages[0].role, ChatRole::Developer);
    EXPECT_EQ(chat.messages[1].content.text(), "Hello\nthere");
    ASSERT_EQ(chat.options.arguments.size(), 1U);
    EXPECT_EQ(chat.options.arguments[0].first.text(), "enable_thinking");
    EXPECT_FALSE(chat.options.arguments[0].second.truth());
    const GenerationFields& fields = chat.fields;
    const SamplingSettings& sampling = fields.settings.sampling;
    EXPECT_EQ(sampling.temperature, 0.5F);
    EXPECT_EQ(sampling.top_p, 0.9F);
    EXPECT_EQ(sampling.top_k, 0);
    EXPECT_EQ(sampling.min_p, 0.1F);
    EXPECT_EQ(sampling.frequency_penalty, 0.25F);
    EXPECT_EQ(sampling.presence_penalty, -1.0F);
    EXPECT_EQ(sampling.repetition_penalty, 1.5F);
    EXPECT_EQ(sampling.seed, 0xFFFFFFFFFFFFFFFFU);
    EXPECT_EQ(sampling.logit_bias, (std::map<std::int32_t, float>{{5, -100.0F}, {2047, 1.5F}}));
    EXPECT_EQ(fields.settings.max_tokens, 7);
    EXPECT_EQ(fields.settings.stop, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(fields.settings.top_n, 4);
    EXPECT_TRUE(fields.settings.ignore_end);
    EXPECT_EQ(fields.stop_tokens, std::vector<std::int32_t>{3});
    EXPECT_EQ(fields.n, 3);
    EXPECT_TRUE(fields.stream && fields.include_usage && fields.logprobs);
}

TEST(ServeRequests, FormsBecomeGrammars) {
    const auto grammar = [](const std::string& fields) {
        return read_chat_request(with_chat(fields), kModel, 1).fields.settings.grammar;
    };
    EXPECT_FALSE(grammar(R"("response_format":{"type":"text"})").has_value());
    EXPECT_EQ(grammar(R"("response_format":{"type":"json_object"})")->kind, GrammarSource::Kind::JsonObject);
    EXPECT_EQ(grammar(R"("regex":"[0-9]{4}")")->text, "[0-9]{4}");
    const auto schema =
        grammar(R"("response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,
        "schema":{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"null"}}}}})");
    EXPECT_LT(schema->text.find("\"b\""), schema->text.find("\"a\"")) << "not in the order of the request";
}

TEST(ServeRequests, DefaultsAreThoseOfOpenAi) {
    const ChatRequest chat = read_chat_request(with_chat(R"("n":null)"), kModel, 42);
    EXPECT_EQ(chat.fields.settings.sampling.temperature, 1.0F);
    EXPECT_EQ(chat.fields.settings.sampling.seed, 42U);
    EXPECT_EQ(chat.fields.settings.max_tokens, 0);  // as many as there is room for
    EXPECT_EQ(chat.fields.n, 1);
    EXPECT_FALSE(chat.fields.stream);
    EXPECT_EQ(read_completion_request(R"({"prompt":"a"})", kModel, 1).fields.settings.max_tokens, 16);
}

TEST(ServeRequests, PromptsAreTextsTokensOrListsOfThem) {
    const auto prompts = [](const std::string& prompt) {
        return read_completion_request("{\"prompt\":" + prompt + "}", kModel, 1).prompts;
    };
    const std::vector<std::int32_t> tokens{1, 2, 3};
    EXPECT_EQ(std::get<std::string>(prompts("\"a\"").at(0)), "a");
    EXPECT_EQ(prompts(R"(["a","b"])").size(), 2U);
    EXPECT_EQ(std::get<1>(prompts("[1,2,3]").at(0)), tokens);
    EXPECT_EQ(std::get<1>(prompts("[[1,2,3],[4]]").at(0)), tokens);
    EXPECT_EQ(prompts("[[1,2,3],[4]]").size(), 2U);
}

TEST(ServeRequests, ChatNamesTheFieldThatIsWrong) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {R"({"messages":[]})", "messages"},
        {R"({})", "messages"},
        {R"({"messages":"Hi"})", "messages"},
        {R"({"messages":["Hi"]})", "messages[0]"},
        {R"({"messages":[{"role":"robot","content":"Hi"}]})", "messages[0].role"},
        {R"({"messages":[{"content":"Hi"}]})", "messages[0].role"},
        {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
        {R"({"messages":[{"role":"user","content":7}]})", "messages[0].content"},
        {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
         "messages[0].content[0].type"},
        {R"({"messages":[{"role":"user","content":"Hi","weight":1}]})", "messages[0].weight"},
        {R"({"messages":[{"role":"user","content":"Hi","name":7}]})", "messages[0].name"},
        {R"({"messages":[{"role":"assistant","tool_calls":[{"function":{}}]}]})",
         "messages[0].tool_calls[0].function.name"},
        {with_chat(R"("temperature":-1)"), "temperature"},
        {with_chat(R"("temperature":"warm")"), "temperature"},
        {with_chat(R"("temperature":1e300)"), "temperature"},
        {with_chat(R"("top_p":1.5)"), "top_p"},
        {with_chat(R"("top_k":-2)"), "top_k"},
        {with_chat(R"("n":0)"), "n"},
        {with_chat(R"("n":1000)"), "n"},
        {with_chat(R"("n":1.5)"), "n"},
        {with_chat(R"("max_tokens":0)"), "max_tokens"},
        {with_chat(R"("max_tokens":18446744073709551615)"), "max_tokens"},
        {with_chat(R"("max_tokens":5,"max_completion_tokens":6)"), "max_tokens"},
        {with_chat(R"("stop":"")"), "stop"},
        {with_chat(R"("stop":[1])"), "stop"},
        {with_chat(R"("stream":"yes")"), "stream"},
        {with_chat(R"("stream_options":{"include_usage":1})"), "stream_options.include_usage"},
        {with_chat(R"("logit_bias":{"2048":1})"), "logit_bias"},
        {with_chat(R"("logit_bias":{"x":1})"), "logit_bias"},
        {with_chat(R"("logit_bias":{"1":101})"), "logit_bias"},
        {with_chat(R"("top_logprobs":5)"), "top_logprobs"},
        {with_chat(R"("logprobs":true,"top_logprobs":21)"), "top_logprobs"},
        {with_chat(R"("tools":[{"type":"function"}])"), "tools[0].function"},
        {with_chat(R"("tool_choice":"required")"), "tool_choice"},
        {with_chat(R"("response_format":{"type":"xml"})"), "response_format"},
        {with_chat(R"("response_format":{"type":"json_schema"})"), "response_format"},
        {with_chat(R"("regex":"a+","grammar":"root ::= \"a\"")"), "regex"},
        {with_chat(R"("reasoning_effort":"low")"), "reasoning_effort"},
        {with_chat(R"("prompt_logprobs":21)"), "prompt_logprobs"},
        {with_chat(R"("prompt_logprobs":1,"stream":true)"), "prompt_logprobs"},
        {with_chat(R"("best_of":3)"), "best_of"},
        {with_chat(R"("temprature":1)"), "temprature"},
    };
    for (const auto& [body, field] : cases) {
        const nlohmann::json error = refused(read_chat_request, body);
        EXPECT_EQ(error["param"], field) << body;
        EXPECT_NE(error["message"].get<std::string>().find(field), std::string::npos) << error["message"];
    }
    EXPECT_EQ(refused(read_chat_request, with_chat(R"("temprature":1)"))["message"],
              "\"temprature\" is not a known field; did you mean temperature?");
}

TEST(ServeRequests, WholeNumbersMayHaveADecimalPoint) {
    const auto number = [](const char* text) { return whole_number(nlohmann::ordered_json::parse(text)); };
    EXPECT_EQ(number("5.0"), 5);
    EXPECT_EQ(number("1e3"), 1000);
    EXPECT_EQ(number("-0"), 0);
    EXPECT_EQ(number("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    for (const char* none : {"5.5", "9223372036854775808", "1e300", "\"5\"", "true"})
        EXPECT_EQ(number(none), std::nullopt) << none;
}

TEST(ServeRequests, CompletionsNameTheFieldThatIsWrong) {
    for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
             {"{}", "prompt"},
             {R"({"prompt":7})", "prompt"},
             {R"({"prompt":[1,"a"]})", "prompt"},
             {R"({"prompt":[2048]})", "prompt"},
             {R"({"prompt":[-1]})", "prompt"},
             {R"({"prompt":["a","b"],"n":100})", "prompt"},
             {R"({"prompt":"a","echo":true,"logprobs":1,"stream":true})", "stream"},
             {R"({"prompt":"a","max_tokens":0})", "max_tokens"},
             {R"({"prompt":"a","suffix":"b"})", "suffix"},
             {R"({"prompt":"a","logprobs":true})", "logprobs"}})
        EXPECT_EQ(refused(read_completion_request, body)["param"], field) << body;
}

TEST(ServeRequests, CompletionsMayAskForThePromptAlone) {
    const CompletionRequest read =
        read_completion_request(R"({"prompt":"a","echo":true,"logprobs":1,"max_tokens":0})", kModel, 1);
    EXPECT_TRUE(read.echo && read.only_prompt && read.fields.score_prompt);
    EXPECT_FALSE(read_completion_request(R"({"prompt":"a","echo":true})", kModel, 1).fields.score_prompt);
}

TEST(ServeRequests, BrokenJsonIsRefusedWithItsPlace) {
    const auto message = [](const std::string& body) {
        return refused(read_chat_request, body)["message"].get<std::string>();
    };
    EXPECT_EQ(message("{\"a\":}"), "the body is not valid JSON at byte 6");
    EXPECT_EQ(message(""), "the body is not valid JSON at byte 1");
    EXPECT_EQ(message("[1]"), "the body must be a JSON object");
    EXPECT_EQ(message("{\"a\":\"\xff\"}"), "the body is not valid JSON at byte 7");
    EXPECT_EQ(message("{\"a\":1,\"a\":2}"), "\"a\" occurs twice");
    EXPECT_EQ(message("{\"a\":1e999}"), "the body is not valid JSON: a number is too large");
    EXPECT_EQ(message("{\"a\":" + std::string(100'000, '[')), "the JSON is nested deeper than 64 levels");
}

TEST(ServeRequests, AnotherModelIsNotFound) {
    try {
        read_chat_request(with_chat(R"("model":"gpt-5")"), kModel, 1);
        FAIL();
    } catch (const ApiError& error) {
        EXPECT_EQ(error.status(), 404);
        EXPECT_EQ(nlohmann::json::parse(error.body())["error"]["code"], "model_not_found");
    }
}

TEST(ServeRequests, AnswersToOneRequestDrawDifferently) {
    RequestSettings settings;
    settings.sampling.seed = 7;
    EXPECT_EQ(settings_of_answer(settings, 0).sampling.seed, 7U);
    EXPECT_NE(settings_of_answer(settings, 1).sampling.seed, settings_of_answer(settings, 2).sampling.seed);
}

}  // namespace
}  // namespace voltpile::llm
