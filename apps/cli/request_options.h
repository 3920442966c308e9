// The options of the commands that generate text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "llm/engine/request.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace voltpile::cli {

// Adds an option for each field of a request (llm/engine/request_fields.h): --temperature, --max-tokens and
// so on. without: names of fields that the command leaves out. `settings` must outlive the parser.
void add_request_options(CLI::App& command, llm::RequestSettings& settings,
                         std::span<const std::string_view> without = {});

// Adds --seed, a 64-bit integer. help: what it seeds. `seed` must outlive the parser.
CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& help);

// A check for an option: a number in [low, high]. CLI::Range would accept "nan".
CLI::Validator number_between(double low, double high);

}  // namespace voltpile::cli
