#include <fmt/format.h>

#include "base/error.h"
#include "llm/chat/chat_render.h"

namespace voltpile::llm {

namespace {

enum class SystemPlace { None, FirstQuestion, LastQuestion };

struct InstFormat {
    std::string_view before_question;
    std::string_view after_question;
    std::string_view before_answer;
    std::string_view after_answer;
    std::string_view after_eos;
    SystemPlace system_place;
    std::string_view before_system;
    std::string_view after_system;
    bool bos_at_each_question;
    bool trims_question;
    bool trims_answer;
};

InstFormat format_of(ChatFamily family) {
    using enum SystemPlace;
    switch (family) {
        case ChatFamily::Llama2:
            return {"[INST] ",   " [/INST]",       " ",  " ",  "",  FirstQuestion,
                    "<<SYS>>\n", "\n<</SYS>>\n\n", true, true, true};
        case ChatFamily::MistralV0_1:
            return {"[INST] ", " [/INST]", "", "", " ", None, "", "", false, false, false};
        case ChatFamily::MistralV0_2:
            return {"[INST] ", " [/INST]", "", "", "", None, "", "", false, false, false};
        case ChatFamily::MistralV1:
            return {" [INST] ", " [/INST]", " ", "", "", FirstQuestion, "", "\n\n", false, false, false};
        case ChatFamily::MistralV3:
            return {"[INST] ", "[/INST]", " ", "", "", LastQuestion, "", "\n\n", false, false, true};
        default:
            return {"[INST]", "[/INST]", "", "", "", LastQuestion, "", "\n\n", false, false, false};
    }
}

void check_turns(std::span<const ChatMessage> messages) {
    for (std::size_t i = 0; i < messages.size(); ++i)
        if (messages[i].role != (i % 2 == 0 ? ChatRole::User : ChatRole::Assistant))
            throw JobError(fmt::format(
                "message {} of the chat: this model requires user and assistant messages to alternate, "
                "after at most one system message",
                i + 1));
}

}  // namespace

std::string render_inst(ChatFamily family, std::span<const ChatMessage> messages, std::string_view bos,
                        std::string_view eos) {
    const InstFormat format = format_of(family);
    const ChatMessage* system = nullptr;
    if (messages.front().role == ChatRole::System) {
        if (format.system_place == SystemPlace::None)
            throw JobError("this model's chat template has no place for a system message");
        system = &messages.front();
        messages = messages.subspan(1);
    }
    check_turns(messages);
    const std::size_t system_at =
        format.system_place == SystemPlace::LastQuestion && !messages.empty() ? messages.size() - 1 : 0;
    std::string text(format.bos_at_each_question ? "" : bos);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        std::string content = messages[i].content;
        if (messages[i].role == ChatRole::Assistant) {
            if (format.trims_answer) content = trim_white_space(content);
            text += fmt::format("{}{}{}{}{}", format.before_answer, content, format.after_answer, eos,
                                format.after_eos);
            continue;
        }
        if (system && i == system_at)
            content =
                fmt::format("{}{}{}{}", format.before_system, system->content, format.after_system, content);
        if (format.trims_question) content = trim_white_space(content);
        text += fmt::format("{}{}{}{}", format.bos_at_each_question ? bos : "", format.before_question,
                            content, format.after_question);
    }
    return text;
}

}  // namespace voltpile::llm
