// Thoughts before answers in the three chat APIs, and those of earlier answers in requests.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "llm/grammar/tool_grammar.h"
#include "llm/serve/api_error.h"
#include "llm/serve/messages_api.h"
#include "llm/serve/responses_api.h"
#include "llm/serve_tools_fixture.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

const std::string kThoughtful = "I think.\n</think>\n\n" + kAnswer;

AnswerHead head_with_thoughts() {
    AnswerHead head = head_with_calls();
    head.calls.thoughts = Thoughts::Open;
    return head;
}

TEST(ServeThoughts, ChatAnswersHaveThoughts) {
    const std::vector outcomes{outcome_with_calls(kThoughtful)};
    const json message = json::parse(chat_format(head_with_thoughts(), tools_tokenizer())
                                         ->whole(outcomes, {10, 4, 3}))["choices"][0]["message"];
    EXPECT_EQ(message["reasoning_content"], "I think.");
    EXPECT_EQ(message["content"], "I look.");
    EXPECT_EQ(message["tool_calls"].size(), 2U);
    std::string thought, content;
    const auto format = chat_format(head_with_thoughts(), tools_tokenizer());
    for (const json& event : streamed(*format, kThoughtful)) {
        const json& delta = event["choices"][0]["delta"];
        EXPECT_FALSE(delta.contains("reasoning_content") && !content.empty());
        thought += delta.value("reasoning_content", "");
        content += delta.value("content", "");
    }
    EXPECT_EQ(thought, "I think.");
    EXPECT_EQ(content, "I look.");
}

TEST(ServeThoughts, AnthropicAnswersHaveThoughts) {
    const std::vector outcomes{outcome_with_calls(kThoughtful)};
    const json content =
        json::parse(messages_format(head_with_thoughts(), 10, {})->whole(outcomes, {10, 4, 3}))["content"];
    ASSERT_EQ(content.size(), 4U);
    EXPECT_EQ(content[0], (json{{"type", "thinking"}, {"thinking", "I think."}, {"signature", ""}}));
    EXPECT_EQ(content[1]["text"], "I look.");
    std::string thought;
    std::vector<std::string> types;
    for (const json& event : streamed(*messages_format(head_with_thoughts(), 10, {}), kThoughtful)) {
        if (event["type"] == "content_block_start") types.push_back(event["content_block"]["type"]);
        if (event["type"] == "content_block_delta" && event["delta"]["type"] == "thinking_delta")
            thought += event["delta"]["thinking"].get<std::string>();
    }
    EXPECT_EQ(thought, "I think.");
    EXPECT_EQ(types, (std::vector<std::string>{"thinking", "text", "tool_use", "tool_use"}));
    const std::vector cut_off{outcome_with_calls("I thi")};
    EXPECT_EQ(
        json::parse(messages_format(head_with_thoughts(), 10, {})->whole(cut_off, {}))["content"].size(), 1U);
}

TEST(ServeThoughts, ResponsesAnswersHaveThoughts) {
    for (const std::string& text :
         {kThoughtful, std::string("I think.\n</think>\n\nYes."), std::string("I thi")}) {
        const std::vector outcomes{outcome_with_calls(text)};
        const json output = json::parse(
            responses_format(head_with_thoughts(), "\"store\":false")->whole(outcomes, {}))["output"];
        EXPECT_EQ(output[0]["type"], "reasoning");
        EXPECT_EQ(output[0]["content"][0]["text"], text == "I thi" ? "I thi" : "I think.");
        json items = json::array();
        std::string thought;
        for (const json& event : streamed(*responses_format(head_with_thoughts(), "\"store\":false"), text)) {
            if (event["type"] == "response.output_item.done") items.push_back(event["item"]);
            if (event["type"] == "response.reasoning_text.delta")
                thought += event["delta"].get<std::string>();
        }
        EXPECT_EQ(items, output) << text;
        EXPECT_EQ(thought, output[0]["content"][0]["text"].get<std::string>());
    }
}

TEST(ServeThoughts, ThoughtsOfEarlierAnswersReachTheTemplate) {
    const char* shows =
        "{% for m in messages %}{{ m.role }}[{{ m.reasoning_content or '' }}]{{ m.content or '' }}"
        "{{ m.tool_calls | length if m.tool_calls }};{% endfor %}";
    const std::string expected = "user[]Hi;assistant[hm]Yes;user[]So?;assistant[oh]1;";
    const ChatRequest chat = read_chat_request(
        R"({"messages":[{"role":"user","content":"Hi"},
            {"role":"assistant","reasoning_content":"hm","content":"Yes"},{"role":"user","content":"So?"},
            {"role":"assistant","reasoning_content":"oh","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]})",
        served_model(), 1);
    EXPECT_EQ(rendered(chat, shows), expected);
    const ChatRequest anthropic = read_messages_request(
        R"({"max_tokens":5,"messages":[{"role":"user","content":"Hi"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Yes"}]},
            {"role":"user","content":"So?"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"oh"},{"type":"tool_use","id":"c","name":"f","input":{}}]}]})",
        served_model(), 1);
    EXPECT_EQ(rendered(anthropic, shows), expected);
    const ResponsesRequest responses = read_responses_request(
        R"({"input":[{"role":"user","content":"Hi"},
            {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
            {"role":"assistant","content":"Yes"},{"role":"user","content":"So?"},
            {"type":"reasoning","content":[{"type":"reasoning_text","text":"oh"}]},
            {"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]})",
        served_model(), 1);
    EXPECT_EQ(rendered(responses.chat, shows), expected);
}

TEST(ServeThoughts, GrammarsThatHoldFromTheStartLeaveNoRoomForThoughts) {
    const auto expected = [](const std::string& fields) {
        ChatRequest request = read_chat(fields);
        expect_thoughts(request, Thoughts::Open);
        return request;
    };
    EXPECT_EQ(expected(R"("n":1)").thoughts, Thoughts::Open);
    EXPECT_EQ(expected(R"("regex":"a")").thoughts, Thoughts::None);
    EXPECT_EQ(expected(kChatTools + std::string(R"(,"tool_choice":"required")")).thoughts, Thoughts::None);
    const ChatRequest tools = expected(kChatTools);
    EXPECT_EQ(tools.thoughts, Thoughts::Open);
    EXPECT_TRUE(read_tool_grammar(tools.fields.settings.grammar->text).thinks);
}

ServedModel harmony_model() {
    ServedModel model = served_model();
    model.tool_format = ToolFormat::Harmony;
    model.takes_effort = true;
    return model;
}

TEST(ServeThoughts, ChannelsHaveThoughtsBesideEveryGrammar) {
    const auto expected = [](const std::string& fields) {
        ChatRequest request = read_chat(fields, harmony_model());
        expect_thoughts(request, Thoughts::Channels);
        EXPECT_EQ(request.thoughts, Thoughts::Channels);
        EXPECT_TRUE(request.fields.settings.channels);
        return request;
    };
    EXPECT_FALSE(expected(R"("n":1)").fields.settings.grammar);
    EXPECT_TRUE(expected(R"("response_format":{"type":"json_object"})").fields.settings.grammar->in_channels);
    for (const char* choice : {"auto", "required"}) {
        const ChatRequest tools = expected(kChatTools + std::string(R"(,"tool_choice":")") + choice + "\"");
        EXPECT_FALSE(tools.fields.settings.grammar->in_channels);
        EXPECT_EQ(read_tool_grammar(tools.fields.settings.grammar->text).format, ToolFormat::Harmony);
        // Templates of this format add line breaks to descriptions, also to missing ones.
        EXPECT_EQ(rendered(tools, "{% for t in tools %}{{ t.function.description + ';' }}{% endfor %}"),
                  "d;;");
    }
}

TEST(ServeThoughts, AnswersInChannelsHaveThoughtsTextAndCalls) {
    const std::string answer =
        "\xFF<|channel|>analysis\xFF<|message|>I "
        "think.\xFF<|end|>\xFF<|start|>assistant\xFF<|channel|>commentary"
        "\xFF<|message|>I look.\xFF<|end|>\xFF<|start|>assistant\xFF<|channel|>commentary to=functions.f "
        "\xFF<|constrain|>json\xFF<|message|>{\"a\": 1}";
    AnswerHead head{"id-1", "tiny", 1700000000, false, false};
    head.calls = {ToolFormat::Harmony, 5, Thoughts::Channels};
    const std::vector outcomes{outcome_with_calls(answer)};
    const json choice =
        json::parse(chat_format(head, tools_tokenizer())->whole(outcomes, {10, 4, 3}))["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls");
    EXPECT_EQ(choice["message"]["reasoning_content"], "I think.");
    EXPECT_EQ(choice["message"]["content"], "I look.");
    ASSERT_EQ(choice["message"]["tool_calls"].size(), 1U);
    EXPECT_EQ(choice["message"]["tool_calls"][0]["function"],
              (json{{"name", "f"}, {"arguments", "{\"a\": 1}"}}));
    std::string thought, content, arguments, finish;
    const auto format = chat_format(head, tools_tokenizer());
    for (const json& event : streamed(*format, answer)) {
        const json& delta = event["choices"][0]["delta"];
        thought += delta.value("reasoning_content", "");
        content += delta.value("content", "");
        if (delta.contains("tool_calls"))
            arguments += delta["tool_calls"][0]["function"].value("arguments", "");
        if (event["choices"][0]["finish_reason"].is_string()) finish = event["choices"][0]["finish_reason"];
    }
    EXPECT_EQ(thought, "I think.");
    EXPECT_EQ(content, "I look.");
    EXPECT_EQ(arguments, "{\"a\": 1}");
    EXPECT_EQ(finish, "tool_calls");
}

TEST(ServeThoughts, EffortReachesTheTemplate) {
    const char* shows = "{{ reasoning_effort | default('none') }}";
    const auto effort = [&](const std::string& fields) {
        return rendered(read_chat(fields, harmony_model()), shows);
    };
    EXPECT_EQ(effort(R"("n":1)"), "none");
    EXPECT_EQ(effort(R"("reasoning_effort":"low")"), "low");
    EXPECT_EQ(effort(R"("chat_template_kwargs":{"reasoning_effort":"high"})"), "high");
    const auto responses = [](const std::string& fields, const ServedModel& model) {
        return read_responses_request(R"({"input":"Hi",)" + fields + "}", model, 1).chat;
    };
    EXPECT_EQ(
        rendered(responses(R"("reasoning":{"effort":"high","summary":"auto"})", harmony_model()), shows),
        "high");
    EXPECT_THROW(effort(R"("reasoning_effort":"much")"), ApiError);
    EXPECT_THROW(read_chat(R"("reasoning_effort":"low")"), ApiError);
    EXPECT_THROW(responses(R"("reasoning":{"effort":"low"})", served_model()), ApiError);
}

}  // namespace
}  // namespace voltpile::llm
