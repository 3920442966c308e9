// Runs a text through a model on this machine's cores, to learn which columns of its matrices matter.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "llm/model/model_files.h"
#include "llm/quantize/importance.h"
#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// The fewest tokens of a text that calibrates.
inline constexpr std::int64_t kLeastCalibrationTokens = 2048;

// Throws JobError for a text that is too short. name: of its file, for the message.
void check_calibration_text(std::span<const TokenId> tokens, const std::string& name);

// Returns the importance of all columns over the text, cut into windows of at most 512 tokens that each begin
// with `begin_token` (-1: none). progress: called with the tokens done after each pass; may throw to stop.
// Throws Error if a sum is not finite.
ImportanceMatrix calibrate(const ModelFiles& model, std::span<const TokenId> tokens, TokenId begin_token,
                           std::size_t threads, const std::function<void(std::int64_t)>& progress);

}  // namespace voltpile::llm
