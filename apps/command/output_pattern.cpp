#include "command/output_pattern.h"

#include <fmt/format.h>

#include "base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace voltpile::command {
namespace {

std::string pcre_text(int code) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char*>(text);
}

struct FreeMatch {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct OutputPattern::Compiled {
    pcre2_code* code = nullptr;

    explicit Compiled(const std::string& pattern) {
        int error = 0;
        PCRE2_SIZE offset = 0;
        code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_MULTILINE,
                             &error, &offset, nullptr);
        if (!code) throw JobError(fmt::format("{} at character {}", pcre_text(error), offset + 1));
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // if it fails, pcre2_match() interprets the pattern
    }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;
    ~Compiled() { pcre2_code_free(code); }
};

OutputPattern::OutputPattern(const std::string& pattern)
    : pattern_(pattern), compiled_(std::make_shared<const Compiled>(pattern)) {}

std::optional<std::vector<std::string>> OutputPattern::last_match(std::string_view text) const {
    const std::unique_ptr<pcre2_match_data, FreeMatch> data(
        pcre2_match_data_create_from_pattern(compiled_->code, nullptr));
    const auto* const subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    std::optional<std::vector<std::string>> found;
    for (std::size_t at = 0; at <= text.size();) {
        int groups = pcre2_match(compiled_->code, subject, text.size(), at, 0, data.get(), nullptr);
        if (groups == PCRE2_ERROR_JIT_STACKLIMIT)  // the interpreter uses the heap
            groups =
                pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_JIT, data.get(), nullptr);
        if (groups == PCRE2_ERROR_NOMATCH) break;
        if (groups < 0) throw JobError(fmt::format("pattern '{}': {}", pattern_, pcre_text(groups)));
        const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data.get());
        const std::uint32_t count = pcre2_get_ovector_count(data.get());
        found.emplace();
        for (std::uint32_t group = count > 1 ? 1 : 0; group < count; ++group) {
            const bool part = static_cast<int>(group) < groups && ends[2 * group] != PCRE2_UNSET;
            found->push_back(
                part ? std::string(text.substr(ends[2 * group], ends[2 * group + 1] - ends[2 * group]))
                     : std::string());
        }
        at = std::max(ends[1], at) + (ends[1] <= ends[0] ? 1 : 0);
    }
    return found;
}

}  // namespace voltpile::command
