// How tokens are guessed ahead of the model, so that one pass may give several.
#pragma once

#include <array>
#include <string_view>

namespace voltpile::llm {

enum class Speculate { Off, Ngram, Mtp, Draft, Eagle };

// Those that users choose by name, by the number of the kind. Draft and Eagle come with the model or the
// EAGLE 3 head that guesses.
inline constexpr std::array<std::string_view, 3> kSpeculateNames{"off", "ngram", "mtp"};

// Returns the kind of this name, which must exist.
constexpr Speculate speculate_of(std::string_view name) {
    std::size_t at = 0;
    while (kSpeculateNames.at(at) != name) ++at;
    return static_cast<Speculate>(at);
}

// Whether a layer guesses that reads the model's hidden states: a prediction layer or an EAGLE 3 head.
constexpr bool reads_hidden_states(Speculate kind) {
    return kind == Speculate::Mtp || kind == Speculate::Eagle;
}

// What guesses, for messages, if it is a model or a part of one.
constexpr std::string_view guesser_of(Speculate kind) {
    if (kind == Speculate::Eagle) return "an EAGLE 3 head";
    return kind == Speculate::Mtp ? "a prediction layer" : "a draft model";
}

inline constexpr std::string_view kSpeculateHelp =
    "guess tokens ahead and check several in one pass; the text stays the same. ngram: guess what followed "
    "the last tokens when they came before, in the prompt or the answer. Pays for text that repeats itself, "
    "as edited code and summaries do. mtp: guess with the layer that predicts further tokens, which files of "
    "GLM 4.5 and DeepSeek V3 may have";

inline constexpr std::string_view kDraftHelp =
    "a small model with the same vocabulary that guesses tokens ahead, for several of them in one pass of "
    "the large one, or the folder of an EAGLE 3 head for the model; the text stays the same. It shares the "
    "ranks and their memory, unless a draft model has ranks of its own";

}  // namespace voltpile::llm
