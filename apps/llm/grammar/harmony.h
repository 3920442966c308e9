// The response format of gpt-oss, called harmony: an answer consists of messages, and special tokens stand
// around their headers, which name a channel and perhaps a recipient:
//   <|channel|>analysis<|message|>thoughts<|end|><|start|>assistant<|channel|>final<|message|>answer<|return|>
//   <|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>
// Texts in this format have kMarkerByte before each of these tokens.
#pragma once

#include <array>
#include <string_view>

#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::llm {

// The names of the special tokens.
inline constexpr std::array<std::string_view, 7> kHarmonyTokens{
    "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>", "<|call|>", "<|return|>"};

// The same in texts.
inline constexpr std::string_view kHarmonyStart = "\xFF<|start|>", kHarmonyChannel = "\xFF<|channel|>",
                                  kHarmonyMessage = "\xFF<|message|>", kHarmonyEnd = "\xFF<|end|>",
                                  kHarmonyConstrain = "\xFF<|constrain|>";
static_assert(kHarmonyStart.front() == kMarkerByte);

// Stands before the name of a tool in the header of a call. The header may have it before its channel or
// after it; these are the texts before the name.
inline constexpr std::string_view kHarmonyCallMarker = "to=functions.",
                                  kHarmonyCallBeforeChannel = " to=functions.",
                                  kHarmonyCallInChannel = "\xFF<|channel|>commentary to=functions.";

// Returns the special tokens of a vocabulary that are markers of the format.
ShownTokens harmony_tokens(const Tokenizer& tokenizer);

}  // namespace voltpile::llm
