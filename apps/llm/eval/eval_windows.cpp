#include "llm/eval/eval_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace voltpile::llm {
namespace {

using Tokens = std::span<const std::int32_t>;

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
        EvalWindow window{cut.begin_token, text.subspan(begin, end - begin)};
        window.first_scored = static_cast<int>(std::max<std::size_t>(1, begin_tokens + end_before - begin));
        end_before = end;
        if (window.first_scored < window.size()) windows.push_back(window);
    }
    return windows;
}

std::vector<EvalWindow> second_halves(Tokens text, const EvalCut& cut) {
    if (cut.stride > 0) throw JobError("windows scored in their second halves have no stride");
    std::vector<EvalWindow> windows;
    const int first_scored = cut.window / 2 + 1;
    if (first_scored >= cut.window) return windows;
    // The begin token replaces the first token of a window: for the first window itself, for the others the
    // text's token before `begin`.
    const std::size_t begin_tokens = cut.begin_token ? 1 : 0;
    const auto length = static_cast<std::size_t>(cut.window);
    for (std::size_t begin = 0; begin + length <= text.size() + begin_tokens; begin += length)
        windows.push_back({cut.begin_token, text.subspan(begin, length - begin_tokens), first_scored});
    return windows;
}

}  // namespace

std::vector<std::int32_t> EvalWindow::tokens() const {
    std::vector<std::int32_t> all;
    all.reserve(static_cast<std::size_t>(size()));
    if (begin_token) all.push_back(*begin_token);
    all.insert(all.end(), text.begin(), text.end());
    return all;
}

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
