// Small parts of the JSON of answers, written fast: streams have one event for each token.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "llm/decoder/pass_runner.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Returns text, in UTF-8, as a JSON string with its quotes.
std::string json_text(std::string_view text);

// Returns "data: JSON\n\n".
std::string data_event(std::string_view json);

// Returns the text of one token as log probabilities show it, with U+FFFD for parts of characters.
std::string token_text(const Tokenizer& tokenizer, TokenId token);

// JSON has no infinity: a token that cannot be drawn has -9999, as in other servers.
double finite_logprob(float logprob);

// Tokens with their log probabilities, and at most `most` candidates each, in the form of the chat API: the
// "content" of "logprobs".
std::string chat_logprobs(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                          std::span<const float> logprobs, std::span<const TopTokens> top, int most);

}  // namespace voltpile::llm
