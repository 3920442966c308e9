#include "llm/tokenizer/split_pattern.h"
#include <cstdint>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "base/error.h"

namespace voltpile::llm {

namespace {

constexpr std::string_view kWhiteSpace = R"(\t-\r\x{85}\p{Z})";

std::string pcre_message(int code) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char*>(text);
}

// Replaces \s, and \S outside of classes, by the class of White_Space characters.
std::string with_plain_white_space(std::string_view pattern) {
    std::string result;
    bool in_class = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\' && i + 1 < pattern.size()) {
            const char escaped = pattern[++i];
            if (escaped == 's') {
                result += in_class ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
            } else if (escaped == 'S' && !in_class) {
                result += fmt::format("[^{}]", kWhiteSpace);
            } else {
                result += {c, escaped};
            }
            continue;
        }
        if (c == '[') in_class = true;
        if (c == ']') in_class = false;
        result += c;
    }
    return result;
}

struct FreeMatchData {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct SplitPattern::Compiled {
    pcre2_code* code = nullptr;

    explicit Compiled(const std::string& pattern) {
        const std::string translated = with_plain_white_space(pattern);
        int error = 0;
        PCRE2_SIZE offset = 0;
        code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
        if (!code)
            throw JobError(fmt::format("pattern of the pre-tokenizer \"{}\": {} after \"{}\"", pattern,
                                       pcre_message(error), translated.substr(0, offset)));
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // if it fails, pcre2_match() interprets the pattern
    }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;
    ~Compiled() { pcre2_code_free(code); }
};

SplitPattern::SplitPattern(std::string pattern)
    : pattern_(std::move(pattern)), compiled_(std::make_shared<const Compiled>(pattern_)) {}

void SplitPattern::split(std::string_view text, const std::function<void(std::string_view)>& piece) const {
    const std::unique_ptr<pcre2_match_data, FreeMatchData> data(pcre2_match_data_create(1, nullptr));
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    std::size_t done = 0;  // the callback has had the text up to here
    for (std::size_t at = 0; at < text.size();) {
        std::uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
        int matched = pcre2_match(compiled_->code, subject, text.size(), at, options, data.get(), nullptr);
        if (matched == PCRE2_ERROR_JIT_STACKLIMIT)  // the interpreter uses the heap
            matched = pcre2_match(compiled_->code, subject, text.size(), at, options | PCRE2_NO_JIT,
                                  data.get(), nullptr);
        if (matched == PCRE2_ERROR_NOMATCH) break;
        if (matched < 0)
            throw JobError(
                fmt::format("pattern of the pre-tokenizer \"{}\": {}", pattern_, pcre_message(matched)));
        const PCRE2_SIZE* match = pcre2_get_ovector_pointer(data.get());
        if (match[0] > done) piece(text.substr(done, match[0] - done));
        piece(text.substr(match[0], match[1] - match[0]));
        at = done = match[1];
    }
    if (done < text.size()) piece(text.substr(done));
}

}  // namespace voltpile::llm
