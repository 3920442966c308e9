// The options for structured output of the commands that generate text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/grammar/grammar.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voltpile::cli {

struct GrammarOptions {
    std::string schema_file;
    std::string grammar_file;
    std::optional<std::string> regex;
    bool json_object = false;
};

// Adds --json-schema, --json-object, --regex and --grammar, of which one may be used, and returns them.
// `options` must outlive the parser.
std::vector<CLI::Option*> add_grammar_options(CLI::App& command, GrammarOptions& options);

// Reads the file of an option, where it has one. Returns nothing without these options. Throws FileError.
std::optional<llm::GrammarSource> grammar_source(const GrammarOptions& options);

}  // namespace voltpile::cli
