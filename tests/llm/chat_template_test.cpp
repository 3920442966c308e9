#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "job_error_text.h"
#include "llm/chat/chat_json.h"
#include "llm/chat/chat_template.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

// The expected texts come from transformers with the models' own templates (make_chat_goldens.py).
TEST(ChatTemplate, RendersLikeTheModelsOwnTemplates) {
    std::ifstream file(std::string(VOLTPILE_SOURCE_DIR) + "/data/llm/chat/golden_chat.json");
    const ordered_json golden = ordered_json::parse(file);
    std::vector<std::string_view> compared;
    for (const ordered_json& family : golden.at("families")) {
        const std::string& name = family.at("name").get_ref<const std::string&>();
        compared.push_back(name);
        const ChatTemplate chat = ChatTemplate::named(name);
        EXPECT_EQ(chat.name(), name);
        for (const ordered_json& test : family.at("cases")) {
            const ordered_json& conversation =
                golden.at("conversations").at(test.at("messages").get<std::size_t>());
            ChatOptions options;
            options.add_generation_prompt = test.at("generation_prompt");
            options.arguments = {{"enable_thinking", test.at("thinking").get<bool>()}};
            const auto render = [&] {
                return chat.render(messages_from_json(conversation), family.at("bos").get<std::string>(),
                                   family.at("eos").get<std::string>(), options);
            };
            // Llama 2's own template silently drops a late system message; ours throws.
            const bool loses_one =
                name == "llama2" && conversation.size() == 3 && conversation[1].at("role") == "system";
            if (test.at("text").is_null() || loses_one) {
                EXPECT_THROW(render(), JobError) << name << " " << conversation.dump();
            } else {
                EXPECT_EQ(render(), test.at("text").get<std::string>()) << name << " " << conversation.dump();
            }
        }
    }
    std::vector<std::string_view> names = ChatTemplate::names();
    std::ranges::sort(names);
    std::ranges::sort(compared);
    EXPECT_EQ(compared, names);
}

TEST(ChatTemplate, RendersTheModelsOwnTemplate) {
    const ChatTemplate chat = ChatTemplate::of_model(
        "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
        "{{ tools | tojson }}{{ answer_with }}{% if add_generation_prompt %}>{% endif %}",
        "model.gguf");
    const std::vector<ChatMessage> messages = {{ChatRole::Developer, "Be brief"}, {ChatRole::User, "Hi"}};
    ChatOptions options;
    options.tools = jinja::Value::list({jinja::Value::map({{"name", "f"}, {"strict", true}})});
    options.arguments = {{"answer_with", "tea"}, {"messages", "no"}, {"eos_token", "|"}};
    EXPECT_EQ(chat.render(messages, "<s>", "</s>", options),
              "<s>system: Be brief|user: Hi|[{\"name\": \"f\", \"strict\": true}]tea>");
    EXPECT_EQ(chat.render(messages, "", "", {.add_generation_prompt = false}),
              "system: Be briefuser: Hinull");
}

TEST(ChatTemplate, KeepsDevelopersIfItMentionsThem) {
    const std::vector<ChatMessage> messages = {{ChatRole::Developer, "Be brief"}};
    EXPECT_EQ(ChatTemplate::of_model("{{ messages[0].role == 'developer' }}", "m").render(messages, "", ""),
              "True");
    EXPECT_EQ(ChatTemplate::of_model("{{ messages[0].role }}", "m").render(messages, "", ""), "system");
}

TEST(ChatTemplate, KnowsWhetherItTakesTools) {
    EXPECT_TRUE(ChatTemplate::of_model("{% if tools %}x{% endif %}", "m").takes_tools());
    EXPECT_FALSE(ChatTemplate::of_model("{{ my_tools }}{{ toolset }}", "m").takes_tools());
}

// As transformers does: the reasoning of an answer has several names.
TEST(ChatTemplate, PassesReasoningByTheNamesThatTemplatesRead) {
    const ChatTemplate chat =
        ChatTemplate::of_model("{{ messages[0].reasoning_content }},{{ messages[0].thinking }}", "test");
    for (const char* field : {"reasoning_content", "reasoning", "thinking"}) {
        const std::vector<ChatMessage> messages = {{ChatRole::Assistant, "4", {{field, "Hm."}}}};
        EXPECT_EQ(chat.render(messages, "", ""), "Hm.,Hm.") << field;
    }
}

// Templates of gpt-oss take reasoning or content beside calls, as a text, and render both as reasoning.
TEST(ChatTemplate, JoinsReasoningAndContentBesideCallsForHarmony) {
    const auto rendered = [](const std::string& prefix, jinja::Value content, const char* reasoning,
                             bool calls) {
        const ChatTemplate chat = ChatTemplate::of_model(
            prefix + "{{ messages[0].thinking }},{{ messages[0].content }},{{ messages[0].content is none }}",
            "test");
        ChatMessage message{ChatRole::Assistant, std::move(content)};
        if (reasoning) message.more.emplace_back("reasoning_content", reasoning);
        if (calls) message.more.emplace_back("tool_calls", jinja::Value::list({1}));
        return chat.render(std::vector{message}, "", "");
    };
    EXPECT_EQ(rendered("<|channel|>", "Look", "Hm", true), "<|channel|>Hm\n\nLook,,False");
    EXPECT_EQ(rendered("<|channel|>", {}, "Hm", true), "<|channel|>Hm,,False");
    EXPECT_EQ(rendered("<|channel|>", "Look", nullptr, true), "<|channel|>,Look,False");
    EXPECT_EQ(rendered("<|channel|>", "Look", "Hm", false), "<|channel|>Hm,Look,False");
    EXPECT_EQ(rendered("", "Look", "Hm", true), "Hm,Look,False");
}

TEST(ChatTemplate, TakesTheDate) {
    const std::vector<ChatMessage> messages = {{ChatRole::User, "Hi"}};
    ChatOptions options;
    options.arguments = {{"date_string", "01 Jan 2030"}};
    const std::string text = ChatTemplate::named("llama3.1").render(messages, "", "", options);
    EXPECT_NE(text.find("Today Date: 01 Jan 2030\n\n<|eot_id|>"), std::string::npos);
    const ChatTemplate today = ChatTemplate::of_model("{{ strftime_now('%Y') }}", "test");
    EXPECT_EQ(today.render(messages, "", "", {.now = 946728000}), "2000");
}

TEST(ChatTemplate, ErrorsNameTheTemplate) {
    const std::vector<ChatMessage> messages = {{ChatRole::User, "Hi"}};
    EXPECT_EQ(message_of([] { ChatTemplate::of_model("\n{% if %}", "model.gguf"); }),
              "model.gguf: chat template, line 2: expected an expression, not end of the statement block");
    EXPECT_EQ(message_of([&] { ChatTemplate::of_model("a\n\n{{ b.c }}", "m").render(messages, "", ""); }),
              "m: chat template, line 3: 'b' is undefined");
    EXPECT_EQ(
        message_of([&] {
            ChatTemplate::of_model("{{ raise_exception('No tools here') }}", "m").render(messages, "", "");
        }),
        "m: the chat template refuses the messages: No tools here");
    EXPECT_NE(message_of([] { ChatTemplate::of_model("\xff", "m"); }).find("is not UTF-8"),
              std::string::npos);
    const std::string unknown = message_of([] { ChatTemplate::named("gemma"); });
    EXPECT_TRUE(unknown.starts_with("unknown chat template \"gemma\"; the names are chatml, qwen2, qwen2.5"))
        << unknown;
    EXPECT_EQ(message_of([] { ChatTemplate::named("chatml").render({}, "", ""); }),
              "the chat has no messages");
}

}  // namespace
}  // namespace voltpile::llm
