// Options that take a number of tokens or a range of them.
#pragma once

#include <string>

#include "llm/bench/load.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voltpile::cli {

// Adds an option that reads "128" or "64:512". `lengths` must outlive the parser.
CLI::Option* add_length_option(CLI::App& command, const std::string& name, llm::Lengths& lengths,
                               const std::string& help);

}  // namespace voltpile::cli
