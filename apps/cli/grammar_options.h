// The options for structured output of the commands that generate text.
#pragma once

#include <optional>
#include <string>

#include "llm/grammar/grammar.h"

namespace CLI {
class App;
}

namespace voltpile::cli {

struct GrammarOptions {
    std::string schema_file;
    std::string grammar_file;
    std::optional<std::string> regex;
    bool json_object = false;
};

// Adds --json-schema, --json-object, --regex and --grammar, of which one may be used. `options` must outlive
// the parser.
void add_grammar_options(CLI::App& command, GrammarOptions& options);

// Reads the file of an option, where it has one. Returns nothing without these options. Throws FileError.
std::optional<llm::GrammarSource> grammar_source(const GrammarOptions& options);

}  // namespace voltpile::cli
