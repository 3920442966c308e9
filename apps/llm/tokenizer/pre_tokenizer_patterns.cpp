#include "llm/tokenizer/pre_tokenizer_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace voltpile::llm {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view kContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr std::string_view kCjkToHangul = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kDeepSeek3Pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Bloom and its relatives: words end at spaces and at these marks.
constexpr std::string_view kBloomPattern =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
constexpr std::string_view kSeedCoderPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Letters with two cases, as DeepSeek LLM lists them.
constexpr std::string_view kCasedLetters =
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC})"
    R"(\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D})"
    R"(\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"
    R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE})"
    R"(\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787})"
    R"(\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
    R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})";

// Llama 3 takes up to 3 digits, Qwen 2 one.
std::string words_and(std::string_view digits) {
    return fmt::format(R"({}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{})", kContraction, digits) +
           R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

// Words in lower case after capitals, each with `tail`: Tekken, GPT-4o.
std::string cased_words_and(std::string_view tail, std::string_view digits) {
    const std::string_view mark = R"([^\r\n\p{L}\p{N}]?)", upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])",
                           lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
    return fmt::format("{0}{1}*{2}+{3}|{0}{1}+{2}*{3}|{4}", mark, upper, lower, tail, digits) +
           R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

struct Named {
    std::vector<std::string_view> names;
    PreTokenizer pre_tokenizer;
};

std::vector<Named> supported() {
    const std::string gpt2(kGpt2Pattern), three = R"(\p{N}{1,3})", one = R"(\p{N})", cjk(kCjkToHangul);
    const std::string llama3 = words_and(three), qwen2 = words_and(one);
    return {
        {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"}, {{llama3}, false, true, true}},
        {{"smaug-bpe", "dbrx", "glm4", "chatglm-bpe"}, {{llama3}}},
        {{"qwen2"}, {{qwen2}, true}},
        {{"deepseek-r1-qwen", "megrez", "stablelm2"}, {{qwen2}}},
        {{"tekken"}, {{cased_words_and("", one)}, false, true, true}},
        {{"gpt-4o"}, {{cased_words_and(fmt::format("{}?", kContraction), three)}}},
        {{"gpt-2", "olmo", "jais", "mellum", "trillion"}, {{gpt2}}},
        {{"smollm", "starcoder", "refact", "command-r", "minerva-7b"}, {{one, gpt2}}},
        {{"deepseek-llm"},
         {{R"([\r\n])", fmt::format(R"(\s?[{}]+)", kCasedLetters),
           R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)", R"(\s+$)",
           cjk, R"(\p{N}+)"}}},
        {{"deepseek-coder"}, {{R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", cjk, one}}},
        {{"deepseek-v3"},
         {{three, R"([\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+)", std::string(kDeepSeek3Pattern)}}},
        {{"falcon"}, {{R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, "[0-9][0-9][0-9]"}}},
        {{"bloom", "poro-chat"}, {{std::string(kBloomPattern)}}},
        {{"viking"}, {{std::string(kBloomPattern), one}}},
        {{"seed-coder"}, {{std::string(kSeedCoderPattern)}}},
        {{"default", ""}, {{R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}}},
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

std::string_view pre_tokenizer_name(const PreTokenizer& pre_tokenizer) {
    std::string_view name;
    int most = -1;
    for (const Named& entry : supported()) {
        const PreTokenizer& other = entry.pre_tokenizer;
        if (other.split_patterns != pre_tokenizer.split_patterns) continue;
        // Files do not say that text is normalized, but a name may imply it.
        if (other.nfc && !pre_tokenizer.nfc) continue;
        const int same =
            2 * (other.nfc == pre_tokenizer.nfc) + (other.ignore_merges == pre_tokenizer.ignore_merges);
        if (same <= most) continue;
        most = same;
        name = entry.names.front();
    }
    return name;
}

}  // namespace voltpile::llm
