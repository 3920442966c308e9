#include "llm/tokenizer/pre_tokenizer_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace voltpile::llm {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Named {
    std::vector<std::string_view> names;
    PreTokenizer pre_tokenizer;
};

std::vector<Named> supported() {
    const std::string gpt2(kGpt2Pattern);
    return {
        {{"llama-bpe", "llama3", "llama-v3"}, {{std::string(kLlama3Pattern)}, false, true, true}},
        {{"qwen2"}, {{std::string(kQwen2Pattern)}, true}},
        {{"deepseek-r1-qwen"}, {{std::string(kQwen2Pattern)}}},
        {{"tekken"}, {{std::string(kTekkenPattern)}, false, true, true}},
        {{"gpt-2"}, {{gpt2}}},
        {{"smollm"}, {{R"(\p{N})", gpt2}}},
        {{"default", ""}, {{R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}}},
    };
}

}  // namespace

PreTokenizer pre_tokenizer_named(std::string_view name, std::string_view path) {
    std::vector<std::string_view> names;
    for (Named& entry : supported()) {
        for (const std::string_view candidate : entry.names) {
            if (candidate == name) return std::move(entry.pre_tokenizer);
            if (!candidate.empty()) names.push_back(candidate);
        }
    }
    throw JobError(fmt::format("{}: pre-tokenizer \"{}\" is not supported; supported are {}", path, name,
                               fmt::join(names, ", ")));
}

}  // namespace voltpile::llm
