// The sampling options of the commands that generate text.
#pragma once

#include <cstdint>
#include <string>

#include "llm/ops/sampling.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace voltpile::cli {

// Adds --temperature, --top-k and so on. `sampling` must outlive the parser.
void add_sampling_options(CLI::App& command, llm::SamplingSettings& sampling);

// Adds --seed, a 64-bit integer. help: what it seeds. `seed` must outlive the parser.
CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& help);

// A check for an option: a number in [low, high]. CLI::Range would accept "nan".
CLI::Validator number_between(double low, double high);

}  // namespace voltpile::cli
