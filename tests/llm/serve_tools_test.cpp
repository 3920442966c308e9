// Tools in the three chat APIs: how requests offer them, and how answers call them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "llm/grammar/tool_grammar.h"
#include "llm/serve/api_error.h"
#include "llm/serve/messages_api.h"
#include "llm/serve/responses_api.h"
#include "llm/serve_tools_fixture.h"

namespace voltpile::llm::serve_tools_test {
namespace {

using nlohmann::json;

TEST(ServeTools, ChatOffersThemToTemplateAndGrammar) {
    const ChatRequest request = read_chat(kChatTools);
    EXPECT_EQ(request.tool_format, ToolFormat::Hermes);
    EXPECT_EQ(rendered(request, "{{ tools[0] | tojson }}"),
              R"({"type": "function", "function": {"name": "f", "description": "d", "parameters": )"
              R"({"type": "object", "properties": {"b": {"type": "null"}, "a": {"type": "null"}}}}})");
    const ToolGrammar grammar = read_tool_grammar(request.fields.settings.grammar->text);
    EXPECT_FALSE(grammar.required);
    EXPECT_TRUE(grammar.parallel);
    ASSERT_EQ(grammar.tools.size(), 2U);
    EXPECT_EQ(grammar.tools[1].schema, R"({"type":"object","properties":{}})");
}

TEST(ServeTools, ChoicesBecomeGrammars) {
    const auto grammar = [](const std::string& choice) {
        return read_tool_grammar(
            read_chat(kChatTools + (",\"tool_choice\":" + choice)).fields.settings.grammar->text);
    };
    EXPECT_TRUE(grammar("\"required\"").required);
    const ToolGrammar named = grammar(R"({"type":"function","function":{"name":"g"}})");
    EXPECT_TRUE(named.required);
    ASSERT_EQ(named.tools.size(), 1U);
    EXPECT_EQ(named.tools[0].name, "g");
    EXPECT_FALSE(grammar("\"auto\",\"parallel_tool_calls\":false").parallel);
    const ChatRequest none = read_chat(kChatTools + std::string(",\"tool_choice\":\"none\""));
    EXPECT_FALSE(none.fields.settings.grammar || none.tool_format);
    EXPECT_TRUE(none.options.tools.is(jinja::Kind::None));
}

TEST(ServeTools, LooseSchemasBecomeAnyObject) {
    const auto schema = [](const std::string& strict) {
        const ChatRequest request = read_chat(
            R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","not":{}})" +
            strict + "}}]");
        return read_tool_grammar(request.fields.settings.grammar->text).tools[0].schema;
    };
    EXPECT_NE(schema("").find("not"), std::string::npos);  // the engine refuses it
    EXPECT_EQ(schema(",\"strict\":false"), R"({"type": "object", "additionalProperties": true})");
}

template <class Read>
json refusal(const Read& read) {
    try {
        read();
    } catch (const ApiError& error) {
        EXPECT_EQ(error.status(), 400);
        return json::parse(error.body())["error"];
    }
    ADD_FAILURE() << "accepted";
    return {};
}

TEST(ServeTools, RefusalsNameTheField) {
    const std::string function = R"("tools":[{"type":"function","function":)";
    for (const auto& [fields, field] : std::vector<std::pair<std::string, std::string>>{
             {R"("tools":{})", "tools"},
             {R"("tools":[{"type":"web_search"}])", "tools[0].type"},
             {function + R"({"parameters":{}}}])", "tools[0].function.name"},
             {function + R"({"name":"a b"}}])", "tools[0].function.name"},
             {function + R"({"name":"f"}},{"type":"function","function":{"name":"f"}}])",
              "tools[1].function.name"},
             {function + R"({"name":"f","parameters":[]}}])", "tools[0].function.parameters"},
             {function + R"({"name":"f","parameters":{"type":"string"}}}])", "tools[0].function"},
             {function + R"({"name":"f","returns":{}}}])", "tools[0].function.returns"},
             {kChatTools + std::string(R"(,"tool_choice":"always")"), "tool_choice"},
             {kChatTools + std::string(R"(,"tool_choice":{"type":"function"})"), "tool_choice.function"},
             {kChatTools + std::string(R"(,"tool_choice":{"type":"function","function":{"name":"h"}})"),
              "tool_choice"},
             {kChatTools + std::string(R"(,"regex":"a")"), "tools"}})
        EXPECT_EQ(refusal([&] { read_chat(fields); })["param"], field) << fields;
    ServedModel model = served_model();
    model.tool_format.reset();
    EXPECT_NE(
        refusal([&] { read_chat(kChatTools, model); })["message"].get<std::string>().find("--tool-format"),
        std::string::npos);
    model.takes_tools = false;
    EXPECT_EQ(refusal([&] { read_chat(kChatTools, model); })["param"], "tools");
}

constexpr const char* kConversation =
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}"
    "[{{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "{{ m.tool_call_id or '' }}{{ m.name or '' }};{% endfor %}";
constexpr const char* kConversationText =
    "user:Sun?;assistant:I look.[c1 f {\"z\": 1, \"a\": 2}][c2 g {}];tool:yes\nno c1f;tool:no c2g;";

TEST(ServeTools, AllApisBecomeTheSameConversation) {
    const std::string f_result = R"([{"type":"text","text":"yes"},{"type":"text","text":"no "}])";
    const ChatRequest chat = read_chat_request(R"({"messages":[{"role":"user","content":"Sun?"},
        {"role":"assistant","content":"I look.","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"z\":1,\"a\":2}"}},
            {"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},
        {"role":"tool","tool_call_id":"c1","name":"f","content":)" +
                                                   f_result + R"(},
        {"role":"tool","tool_call_id":"c2","name":"g","content":"no "}]})",
                                               served_model(), 1);
    EXPECT_EQ(rendered(chat, kConversation), kConversationText);
    const ChatRequest anthropic = read_messages_request(R"({"max_tokens":5,"messages":[
        {"role":"user","content":"Sun?"},
        {"role":"assistant","content":[{"type":"text","text":"I look."},
            {"type":"tool_use","id":"c1","name":"f","input":{"z":1,"a":2}},
            {"type":"tool_use","id":"c2","name":"g","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":)" +
                                                            f_result + R"(},
            {"type":"tool_result","tool_use_id":"c2","content":"no ","is_error":true}]}]})",
                                                        served_model(), 1);
    EXPECT_EQ(rendered(anthropic, kConversation), kConversationText);
    const ResponsesRequest responses = read_responses_request(R"({"input":[{"role":"user","content":"Sun?"},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
        {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"z\":1,\"a\":2}"},
        {"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},
        {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"yes"},
            {"type":"input_text","text":"no "}]},
        {"type":"function_call_output","call_id":"c2","output":"no "}]})",
                                                              served_model(), 1);
    EXPECT_EQ(rendered(responses.chat, kConversation), kConversationText);
}

TEST(ServeTools, OtherApisChooseToolsToo) {
    const ChatRequest anthropic = read_messages_request(
        R"({"max_tokens":5,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}},
            {"name":"g","input_schema":{"type":"object"}}],
            "tool_choice":{"type":"tool","name":"g","disable_parallel_tool_use":true}})",
        served_model(), 1);
    const ToolGrammar first = read_tool_grammar(anthropic.fields.settings.grammar->text);
    EXPECT_TRUE(first.required && !first.parallel && first.tools.size() == 1);
    const ResponsesRequest responses = read_responses_request(
        R"({"input":"Hi","tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true}],
            "tool_choice":"required"})",
        served_model(), 1);
    EXPECT_TRUE(read_tool_grammar(responses.chat.fields.settings.grammar->text).required);
    EXPECT_EQ(refusal([] {
                  read_messages_request(
                      R"({"max_tokens":5,"messages":[{"role":"user","content":[{"type":"image"}]}]})",
                      served_model(), 1);
              })["param"],
              "messages[0].content[0].type");
    const ResponsesRequest form = read_responses_request(
        R"({"input":"Hi","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"null"}}}})",
        served_model(), 1);
    EXPECT_EQ(form.chat.fields.settings.grammar->text, R"({"type":"null"})");
}

TEST(ServeTools, ChatAnswersHaveCalls) {
    const auto format = chat_format(head_with_calls(), tools_tokenizer());
    const std::vector outcomes{outcome_with_calls()};
    const json choice = json::parse(format->whole(outcomes, {10, 4, 3}))["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls");
    EXPECT_EQ(choice["message"]["content"], "I look.");
    const json& calls = choice["message"]["tool_calls"];
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0]["type"], "function");
    EXPECT_EQ(calls[0]["function"]["name"], "f");
    EXPECT_EQ(calls[0]["function"]["arguments"], "{\"a\": 1}");
    EXPECT_NE(calls[0]["id"], calls[1]["id"]);

    std::string content;
    json built = json::array();
    for (const json& event : streamed(*format)) {
        const json& delta = event["choices"][0]["delta"];
        content += delta.value("content", "");
        for (const json& call : delta.value("tool_calls", json::array())) {
            const auto index = call["index"].get<std::size_t>();
            if (call.contains("id")) {
                ASSERT_EQ(index, built.size());
                built.push_back(call);
                built.back().erase("index");
                continue;
            }
            auto& arguments = built[index]["function"]["arguments"].get_ref<std::string&>();
            arguments += call["function"]["arguments"].get<std::string>();
        }
    }
    EXPECT_EQ(content, "I look.");
    EXPECT_EQ(built, calls);
    EXPECT_EQ(
        streamed(*chat_format(head_with_calls(), tools_tokenizer())).back()["choices"][0]["finish_reason"],
        "tool_calls");
}

TEST(ServeTools, AnthropicAnswersHaveBlocks) {
    const auto format = messages_format(head_with_calls(), 10, {});
    const std::vector outcomes{outcome_with_calls()};
    const json answer = json::parse(format->whole(outcomes, {10, 4, 3}));
    EXPECT_EQ(answer["stop_reason"], "tool_use");
    ASSERT_EQ(answer["content"].size(), 3U);
    EXPECT_EQ(answer["content"][0], (json{{"type", "text"}, {"text", "I look."}}));
    EXPECT_EQ(answer["content"][1]["input"], (json{{"a", 1}}));

    json blocks = json::array();
    std::string input, reason;
    int open = 0;
    for (const json& event : streamed(*format)) {
        const std::string type = event["type"];
        if (type == "content_block_start") {
            EXPECT_EQ(open++, 0);
            EXPECT_EQ(event["index"], blocks.size());
            blocks.push_back(event["content_block"]);
            input.clear();
        } else if (type == "content_block_delta" && event["delta"]["type"] == "text_delta") {
            blocks.back()["text"].get_ref<std::string&>() += event["delta"]["text"].get<std::string>();
        } else if (type == "content_block_delta") {
            EXPECT_EQ(event["delta"]["type"], "input_json_delta");
            input += event["delta"]["partial_json"].get<std::string>();
        } else if (type == "content_block_stop") {
            EXPECT_EQ(--open, 0);
            if (!input.empty()) blocks.back()["input"] = json::parse(input);
        } else if (type == "message_delta") {
            reason = event["delta"]["stop_reason"];
        }
    }
    EXPECT_EQ(blocks, answer["content"]);
    EXPECT_EQ(reason, "tool_use");
}

TEST(ServeTools, ResponsesAnswersHaveItems) {
    const auto format = responses_format(head_with_calls(), "\"store\":false");
    const std::vector outcomes{outcome_with_calls()};
    const json output = json::parse(format->whole(outcomes, {10, 4, 3}))["output"];
    ASSERT_EQ(output.size(), 3U);
    EXPECT_EQ(output[0]["content"][0]["text"], "I look.");
    EXPECT_EQ(output[1]["type"], "function_call");
    EXPECT_EQ(output[1]["name"], "f");
    EXPECT_EQ(output[1]["arguments"], "{\"a\": 1}");

    json items = json::array(), last;
    std::string arguments;
    for (const json& event : streamed(*format)) {
        const std::string type = event["type"];
        if (type == "response.output_item.done") items.push_back(event["item"]);
        if (type == "response.output_item.added") arguments.clear();
        if (type == "response.function_call_arguments.delta") arguments += event["delta"].get<std::string>();
        if (type == "response.function_call_arguments.done") {
            EXPECT_EQ(event["arguments"], arguments);
        }
        last = event;
    }
    EXPECT_EQ(items, output);
    EXPECT_EQ(last["type"], "response.completed");
    EXPECT_EQ(last["response"]["output"], output);
}

TEST(ServeTools, IdsSuitTheTemplates) {
    const CallReading mistral{ToolFormat::Mistral, 7}, other{ToolFormat::Hermes, 7};
    EXPECT_EQ(mistral.id("call_", 0, 0).size(), 9U);
    EXPECT_TRUE(other.id("call_", 0, 0).starts_with("call_"));
    EXPECT_NE(other.id("call_", 0, 1), other.id("call_", 0, 0));
    EXPECT_NE(other.id("call_", 1, 0), other.id("call_", 0, 0));
}

}  // namespace
}  // namespace voltpile::llm::serve_tools_test
