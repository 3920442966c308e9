#include "llm/serve/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

ordered_json logprob_entry(const Tokenizer& tokenizer, TokenId token, float logprob) {
    const std::string_view bytes = tokenizer.bytes_of(token);
    std::vector<int> numbers;
    for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
    return {
        {"token", token_text(tokenizer, token)}, {"logprob", finite_logprob(logprob)}, {"bytes", numbers}};
}

}  // namespace

std::string json_text(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    out += '"';
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20)
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
                else
                    out += c;
        }
    }
    out += '"';
    return out;
}

std::string data_event(std::string_view json) {
    std::string event;
    event.reserve(json.size() + 8);
    return event.append("data: ").append(json).append("\n\n");
}

std::string token_text(const Tokenizer& tokenizer, TokenId token) {
    StreamDecoder decoder(tokenizer, false, true);
    std::string text = decoder.push(token);
    return text + decoder.flush();
}

double finite_logprob(float logprob) {
    return std::max(static_cast<double>(logprob), -9999.0);
}

std::string chat_logprobs(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                          std::span<const float> logprobs, std::span<const TopTokens> top, int most) {
    ordered_json content = ordered_json::array();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        ordered_json entry = logprob_entry(tokenizer, tokens[i], logprobs[i]);
        entry["top_logprobs"] = ordered_json::array();
        if (i < top.size())
            for (std::size_t k = 0; k < std::min(top[i].token.size(), static_cast<std::size_t>(most)); ++k)
                entry["top_logprobs"].push_back(
                    logprob_entry(tokenizer, top[i].token[k], top[i].log_probability[k]));
        content.push_back(std::move(entry));
    }
    return content.dump();
}

}  // namespace voltpile::llm
