#include "llm/chat/chat_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"
#include "llm/chat/chat_render.h"

namespace voltpile::llm {

namespace {

struct NamedFamily {
    std::string_view name;
    ChatFamily family;
    std::string_view default_system = "";
};

constexpr std::array kFamilies = {
    NamedFamily{"chatml", ChatFamily::ChatMl},
    NamedFamily{"qwen2", ChatFamily::ChatMl, "You are a helpful assistant."},
    NamedFamily{"qwen2.5", ChatFamily::ChatMl,
                "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
    NamedFamily{"qwen3", ChatFamily::Qwen3},
    NamedFamily{"llama2", ChatFamily::Llama2},
    NamedFamily{"llama3", ChatFamily::Llama3},
    NamedFamily{"llama3.1", ChatFamily::Llama31},
    NamedFamily{"mistral-v0.1", ChatFamily::MistralV0_1},
    NamedFamily{"mistral-v0.2", ChatFamily::MistralV0_2},
    NamedFamily{"mistral-v1", ChatFamily::MistralV1},
    NamedFamily{"mistral-v3", ChatFamily::MistralV3},
    NamedFamily{"mistral-tekken", ChatFamily::MistralTekken},
};

// Line breaks in a template's literals, escaped or not.
constexpr std::array<std::string_view, 2> kLineBreaks = {"\\n", "\n"};

bool has(std::string_view text, std::string_view marker) {
    return text.find(marker) != std::string_view::npos;
}

// Returns the literal system message that a ChatML template writes if the conversation has none.
std::string_view default_system(std::string_view text) {
    constexpr std::string_view kEnd = "<|im_end|>";
    for (const std::string_view line_break : kLineBreaks) {
        const std::string begin = fmt::format("<|im_start|>system{}", line_break);
        for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) {
            const std::string_view rest = text.substr(at + begin.size());
            const std::string_view literal = rest.substr(0, rest.find(kEnd));
            if (literal.size() < rest.size() && literal.find_first_of("'\"{}\\\n") == std::string_view::npos)
                return literal;
        }
    }
    return {};
}

std::string_view inst_family(std::string_view text) {
    if (has(text, "[SYSTEM_PROMPT]")) return {};
    if (has(text, "<<SYS>>"))
        return has(text, "bos_token + '[INST] '") && has(text, ".strip()") ? "llama2" : "";
    if (has(text, "system_message")) {
        if (has(text, "' [INST] '") || has(text, "\" [INST] \"")) return "mistral-v1";
        if (has(text, "\"[INST]\"") || has(text, "'[INST]'")) return "mistral-tekken";
        return has(text, "\"[INST] \"") || has(text, "'[INST] '") ? "mistral-v3" : "";
    }
    if (!has(text, "'[INST] '") || !has(text, "' [/INST]'")) return {};
    return has(text, "eos_token + ' '") ? "mistral-v0.1" : "mistral-v0.2";
}

std::string_view recognized_name(std::string_view text) {
    if (has(text, "<|im_start|>")) {
        // Excludes formats that only begin like ChatML, and models that always think.
        for (const std::string_view other : {"<|im_sep|>", "assistant\\n<think>", "assistant\n<think>"})
            if (has(text, other)) return {};
        return has(text, "enable_thinking") ? "qwen3" : "chatml";
    }
    if (has(text, "<|start_header_id|>") && has(text, "<|eot_id|>"))
        return has(text, "Cutting Knowledge Date") ? "llama3.1" : "llama3";
    return has(text, "[INST]") ? inst_family(text) : std::string_view();
}

}  // namespace

std::vector<std::string_view> ChatTemplate::names() {
    std::vector<std::string_view> names;
    for (const NamedFamily& family : kFamilies) names.push_back(family.name);
    return names;
}

ChatTemplate ChatTemplate::named(std::string_view name) {
    for (const NamedFamily& family : kFamilies)
        if (family.name == name) return {family.family, std::string(family.default_system)};
    throw JobError(
        fmt::format("unknown chat template \"{}\"; the names are {}", name, fmt::join(names(), ", ")));
}

ChatTemplate ChatTemplate::recognized(std::string_view text, std::string_view where) {
    const std::string_view name = recognized_name(text);
    if (name.empty())
        throw JobError(
            fmt::format("{}: this chat template is not supported; supported are {}, one of which may be "
                        "chosen by name",
                        where, fmt::join(names(), ", ")));
    ChatTemplate result = named(name);
    if (result.family_ == ChatFamily::ChatMl) result.default_system_ = default_system(text);
    return result;
}

std::string_view ChatTemplate::name() const {
    for (const NamedFamily& family : kFamilies)
        if (family.family == family_ && family.default_system == default_system_) return family.name;
    return "chatml";  // with its own default system message
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages, std::string_view bos,
                                 std::string_view eos, const ChatOptions& options) const {
    if (messages.empty()) throw JobError("the chat has no messages");
    switch (family_) {
        case ChatFamily::ChatMl:
            return render_chatml(messages, default_system_, options);
        case ChatFamily::Qwen3:
            return render_qwen3(messages, options);
        case ChatFamily::Llama3:
            return render_llama3(messages, bos, options);
        case ChatFamily::Llama31:
            return render_llama31(messages, bos, options);
        default:
            return render_inst(family_, messages, bos, eos);
    }
}

}  // namespace voltpile::llm
