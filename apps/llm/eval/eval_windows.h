// Cuts a text into windows to measure perplexity. The model sees each window on its own, and each token is
// scored in at most one window.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace voltpile::llm {

enum class EvalMethod {
    // Windows begin at every `stride`-th token of the text, up to the one that reaches its end. A token is
    // scored in the
    // first window in which something precedes it. Without a begin token this is the guide "Perplexity of
    // fixed-length
    // models" of Hugging Face's transformers.
    Strided,
    // As llama.cpp's perplexity tool: a begin token and the text, cut into whole windows whose first tokens
    // become the
    // begin token. Scores the tokens after the middle one of each window, and drops the rest of the text.
    SecondHalves,
};

struct EvalCut {
    EvalMethod method = EvalMethod::Strided;
    int window = 0;  // tokens, including the begin token; at least 2
    int stride = 0;  // Strided: at most the text tokens in a window; 0: that many
    std::optional<std::int32_t> begin_token = {};  // put in front of each window
};

// A view of a part of the text.
struct EvalWindow {
    std::optional<std::int32_t> begin_token;  // in front of the text
    std::span<const std::int32_t> text;
    int first_scored = 1;  // tokens()[i] is scored for i >= first_scored; at least 1

    std::int64_t size() const { return (begin_token ? 1 : 0) + std::ssize(text); }
    std::vector<std::int32_t> tokens() const;
};

// Cuts a text into windows. text: tokens without a begin token, must outlive the windows. Throws JobError if
// no token would be scored, or for a window or stride out of range.
std::vector<EvalWindow> cut_for_eval(std::span<const std::int32_t> text, const EvalCut& cut);

}  // namespace voltpile::llm
