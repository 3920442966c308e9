#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "job_error_text.h"
#include "llm/chat/chat_template.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

std::vector<ChatMessage> messages_of(const json& conversation) {
    std::vector<ChatMessage> messages;
    for (const json& message : conversation) {
        const std::string role = message.at("role");
        messages.push_back({role == "system" ? ChatRole::System
                            : role == "user" ? ChatRole::User
                                             : ChatRole::Assistant,
                            message.at("content")});
    }
    return messages;
}

// The expected texts come from transformers with the models' own templates (make_chat_goldens.py).
TEST(ChatTemplate, RendersLikeTheModelsOwnTemplates) {
    std::ifstream file(std::string(VOLTPILE_SOURCE_DIR) + "/data/llm/chat/golden_chat.json");
    const json golden = json::parse(file);
    std::vector<std::string_view> compared;
    for (const json& family : golden.at("families")) {
        const std::string& name = family.at("name").get_ref<const std::string&>();
        compared.push_back(name);
        const ChatTemplate chat = ChatTemplate::named(name);
        EXPECT_EQ(chat.name(), name);
        for (const json& test : family.at("cases")) {
            const json& conversation = golden.at("conversations").at(test.at("messages").get<std::size_t>());
            const ChatOptions options = {.add_generation_prompt = test.at("generation_prompt"),
                                         .thinking = test.at("thinking")};
            const auto render = [&] {
                return chat.render(messages_of(conversation), family.at("bos").get<std::string>(),
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

// Each text has the markers of the family's template.
TEST(ChatTemplate, RecognizesMarkers) {
    const std::vector<std::pair<std::string, std::string>> templates = {
        {"chatml",
         R"({{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }} {{ '<|im_start|>assistant\n' }})"},
        {"qwen2", "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}"},
        {"qwen2.5",
         R"({{- '<|im_start|>system\n' }}{{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }})"
         R"({{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }})"},
        {"qwen3", R"('<|im_start|>' + message.role + '\n<think>\n' {%- if enable_thinking is false %})"},
        {"llama3", "'<|start_header_id|>' + message['role'] + '<|eot_id|>'"},
        {"llama3.1", "Cutting Knowledge Date: December 2023 '<|start_header_id|>' '<|eot_id|>'"},
        {"llama2", "'<<SYS>>\\n' {{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"},
        {"mistral-v0.1", "{{ '[INST] ' + m['content'] + ' [/INST]' }}{{ m['content'] + eos_token + ' ' }}"},
        {"mistral-v0.2", "{{ '[INST] ' + m['content'] + ' [/INST]' }}{{ m['content'] + eos_token}}"},
        {"mistral-v1", "{{- ' [INST] ' + system_message + '\\n\\n' + m['content'] + ' [/INST]' }}"},
        {"mistral-v3",
         R"("[AVAILABLE_TOOLS] [" {{- "[INST] " + system_message + m["content"] + "[/INST]" }})"},
        {"mistral-tekken",
         R"("[AVAILABLE_TOOLS][" {{- "[INST]" + system_message + m["content"] + "[/INST]" }})"},
    };
    for (const auto& [name, text] : templates)
        EXPECT_EQ(ChatTemplate::recognized(text, "config").name(), name);
    EXPECT_EQ(templates.size(), ChatTemplate::names().size());
}

TEST(ChatTemplate, ReadsTheDefaultSystemMessageOfChatMl) {
    const ChatTemplate chat =
        ChatTemplate::recognized("{{ '<|im_start|>system\\nYou are Small.<|im_end|>\\n' }}", "config");
    const std::vector<ChatMessage> messages = {{ChatRole::User, "Hi"}};
    EXPECT_EQ(chat.render(messages, "", "", {.add_generation_prompt = false}),
              "<|im_start|>system\nYou are Small.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n");
}

TEST(ChatTemplate, Llama31TakesTheDate) {
    const std::vector<ChatMessage> messages = {{ChatRole::User, "Hi"}};
    const std::string text =
        ChatTemplate::named("llama3.1").render(messages, "", "", {.date = "01 Jan 2030"});
    EXPECT_NE(text.find("Today Date: 01 Jan 2030\n\n<|eot_id|>"), std::string::npos);
}

TEST(ChatTemplate, ErrorsListTheSupportedNames) {
    for (const char* text : {"", "<start_of_turn>", "[SYSTEM_PROMPT][INST]", "'<|im_start|>user<|im_sep|>'",
                             "'<|im_start|>assistant\\n<think>\\n' '<|im_end|>'"}) {
        const std::string message = message_of([&] { ChatTemplate::recognized(text, "model.gguf"); });
        EXPECT_TRUE(message.starts_with("model.gguf: ")) << message;
        EXPECT_NE(message.find("chatml, qwen2, qwen2.5, qwen3, llama2"), std::string::npos) << message;
    }
    EXPECT_NE(message_of([] { ChatTemplate::named("gemma"); }).find("unknown chat template \"gemma\""),
              std::string::npos);
    EXPECT_EQ(message_of([] { ChatTemplate::named("chatml").render({}, "", ""); }),
              "the chat has no messages");
}

}  // namespace
}  // namespace voltpile::llm
