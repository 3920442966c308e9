// How a text is cut for its perplexity: into windows that a model sees on their own, each token of the text
// scored in at most one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace voltpile::llm {

enum class EvalMethod {
    // Windows begin at every `stride`-th token of the text, up to the one that reaches its end. A token is
    // scored in the first window that has it with something before it. Without a begin token: the guide
    // "Perplexity of fixed-length models" of Hugging Face's transformers.
    Strided,
    // As llama.cpp's perplexity tool: the text behind a begin token, cut into whole windows, whose first
    // tokens become the begin token; scored are those after the one in the middle. A rest is not used.
    SecondHalves,
};

struct EvalCut {
    EvalMethod method = EvalMethod::Strided;
    int window = 0;  // tokens, the begin token included; at least 2
    int stride = 0;  // Strided: at most the window's tokens of the text; 0: that
    std::optional<std::int32_t> begin_token = {};  // of each window
};

// A view of the text: windows that overlap share its memory.
struct EvalWindow {
    std::optional<std::int32_t> begin_token;  // before the text
    std::span<const std::int32_t> text;
    int first_scored = 1;  // tokens()[i] is scored for i >= first_scored, given all before it; at least 1

    std::int64_t size() const { return (begin_token ? 1 : 0) + std::ssize(text); }
    std::vector<std::int32_t> tokens() const;
};

// text: tokens without a begin token; outlives the windows. Throws JobError if no token of it would be
// scored, or for a window or stride out of range.
std::vector<EvalWindow> cut_for_eval(std::span<const std::int32_t> text, const EvalCut& cut);

}  // namespace voltpile::llm
