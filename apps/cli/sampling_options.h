// How tokens are drawn, for the commands that make a model write.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "llm/ops/sampling.h"

namespace voltpile::cli {

// --temperature, --top-k and so on, into `sampling`, which outlives the parser.
void add_sampling_options(CLI::App& command, llm::SamplingSettings& sampling);

// --seed, a whole number of 64 bits; what it is of, for the help.
CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& of);

// For check(). CLI::Range lets "nan" through.
CLI::Validator number_between(double low, double high);

}  // namespace voltpile::cli
