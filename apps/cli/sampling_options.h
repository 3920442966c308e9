// How tokens are drawn, for the commands that make a model write.
#pragma once

#include <CLI/CLI.hpp>

#include "llm/ops/sampling.h"

namespace voltpile::cli {

// --temperature, --top-k and so on, into `sampling`, which outlives the parser.
void add_sampling_options(CLI::App& command, llm::SamplingSettings& sampling);

}  // namespace voltpile::cli
