#include "llm/eval/eval_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace voltpile::llm {
namespace {

using Tokens = std::span<const std::int32_t>;

EvalWindow window_of(Tokens text, const std::optional<std::int32_t>& begin_token) {
    EvalWindow window;
    if (begin_token) window.tokens.push_back(*begin_token);
    window.tokens.insert(window.tokens.end(), text.begin(), text.end());
    return window;
}

std::vector<EvalWindow> strided(Tokens text, const EvalCut& cut) {
    const auto begin_tokens = static_cast<std::size_t>(cut.begin_token.has_value());
    const std::size_t length = static_cast<std::size_t>(cut.window) - begin_tokens;  // of text
    const std::size_t stride = cut.stride > 0 ? static_cast<std::size_t>(cut.stride) : length;
    if (stride > length)
        throw JobError(fmt::format("a stride of {} would leave tokens out: windows have {} of the text",
                                   stride, length));
    std::vector<EvalWindow> windows;
    std::size_t end_before = 0;
    for (std::size_t begin = 0; end_before < text.size(); begin += stride) {
        const std::size_t end = std::min(begin + length, text.size());
        EvalWindow window = window_of(text.subspan(begin, end - begin), cut.begin_token);
        window.first_scored = static_cast<int>(std::max<std::size_t>(1, begin_tokens + end_before - begin));
        end_before = end;
        if (static_cast<std::size_t>(window.first_scored) < window.tokens.size())
            windows.push_back(std::move(window));
    }
    return windows;
}

std::vector<EvalWindow> second_halves(Tokens text, const EvalCut& cut) {
    if (cut.stride > 0) throw JobError("windows scored in their second halves have no stride");
    const auto length = static_cast<std::size_t>(cut.window);
    const EvalWindow whole = window_of(text, cut.begin_token);
    std::vector<EvalWindow> windows;
    for (std::size_t begin = 0; begin + length <= whole.tokens.size(); begin += length) {
        EvalWindow window = window_of(Tokens(whole.tokens).subspan(begin, length), std::nullopt);
        if (cut.begin_token) window.tokens.front() = *cut.begin_token;
        window.first_scored = cut.window / 2 + 1;
        if (window.first_scored < cut.window) windows.push_back(std::move(window));
    }
    return windows;
}

}  // namespace

std::vector<EvalWindow> cut_for_eval(Tokens text, const EvalCut& cut) {
    if (cut.window < 2 || cut.stride < 0)
        throw JobError(fmt::format("windows of {} tokens with a stride of {}", cut.window, cut.stride));
    auto windows = cut.method == EvalMethod::Strided ? strided(text, cut) : second_halves(text, cut);
    if (windows.empty())
        throw JobError(
            fmt::format("the text is too short: of its {} tokens none would be scored in windows of {}",
                        text.size(), cut.window));
    return windows;
}

}  // namespace voltpile::llm
