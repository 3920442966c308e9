// What the tests of tools and of thoughts in the chat APIs share: requests, and answers with calls.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "llm/chat/chat_template.h"
#include "llm/model/model_files.h"
#include "llm/serve/answer_format.h"
#include "llm/serve/completion_request.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm {

inline ServedModel served_model() {
    ServedModel model{"tiny", 2048, 512, 0};
    model.takes_tools = true;
    model.tool_format = ToolFormat::Hermes;
    return model;
}

inline constexpr const char* kChatTools =
    R"("tools":[{"type":"function","function":{"name":"f","description":"d",
    "parameters":{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"null"}}}}},
    {"type":"function","function":{"name":"g"}}])";

inline std::string chat_with(const std::string& fields) {
    return R"({"messages":[{"role":"user","content":"Hi"}],)" + fields + "}";
}

inline ChatRequest read_chat(const std::string& fields, const ServedModel& model = served_model()) {
    return read_chat_request(chat_with(fields), model, 1);
}

inline std::string rendered(const ChatRequest& request, const char* text) {
    return ChatTemplate::of_model(text, "test").render(request.messages, "", "", request.options);
}

inline const Tokenizer& tools_tokenizer() {
    static const Tokenizer tokenizer =
        load_tokenizer(ModelFiles(VOLTPILE_SOURCE_DIR "/data/tiny_model/tiny-q8_0.gguf"));
    return tokenizer;
}

inline AnswerHead head_with_calls() {
    AnswerHead head{"id-1", "tiny", 1700000000, false, false};
    head.calls = {ToolFormat::Hermes, 5};
    return head;
}

inline const std::string kAnswer =
    "I look.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>\n"
    "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>";

inline Outcome outcome_with_calls(const std::string& text = kAnswer) {
    Outcome outcome;
    outcome.text = text;
    outcome.finish = Finish::End;
    return outcome;
}

// Streams the answer in pieces of three bytes and returns the data of all events.
inline std::vector<nlohmann::json> streamed(AnswerFormat& format, const std::string& answer = kAnswer) {
    std::string events = format.begin_event(0);
    for (std::size_t at = 0; at < answer.size(); at += 3)
        events += format.delta_event(0, {std::string_view(answer).substr(at, 3), {}, {}, {}});
    events += format.finish_event(0, outcome_with_calls(answer));
    events += format.end_events({10, 4, 3});
    std::vector<nlohmann::json> all;
    for (std::size_t at = events.find("data: "); at != std::string::npos;
         at = events.find("data: ", at + 1)) {
        const std::string data = events.substr(at + 6, events.find("\n\n", at) - at - 6);
        if (data != "[DONE]") all.push_back(nlohmann::json::parse(data));
    }
    return all;
}

}  // namespace voltpile::llm
