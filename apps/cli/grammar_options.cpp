#include "cli/grammar_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <fstream>

#include "base/error.h"

namespace voltpile::cli {
namespace {

// At most a byte more than a grammar may have.
std::string grammar_file_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw FileError("open", path, errno, ExitCode::BadInput);
    std::string text(llm::Grammar::most_source_bytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) throw FileError("read", path, errno, ExitCode::BadInput);
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

}  // namespace

std::vector<CLI::Option*> add_grammar_options(CLI::App& command, GrammarOptions& options) {
    const std::vector<CLI::Option*> all{
        command.add_option("--json-schema", options.schema_file,
                           "write JSON that satisfies the schema in this file"),
        command.add_flag("--json-object", options.json_object, "write a JSON object"),
        command.add_option("--regex", options.regex, "write a text that matches this regular expression"),
        command.add_option("--grammar", options.grammar_file,
                           "write a text of the grammar in this file (GBNF)")};
    for (CLI::Option* one : all)
        for (CLI::Option* other : all)
            if (one != other) one->excludes(other);
    return all;
}

std::optional<llm::GrammarSource> grammar_source(const GrammarOptions& options) {
    using Kind = llm::GrammarSource::Kind;
    if (!options.schema_file.empty())
        return llm::GrammarSource{Kind::JsonSchema, grammar_file_text(options.schema_file)};
    if (!options.grammar_file.empty())
        return llm::GrammarSource{Kind::Gbnf, grammar_file_text(options.grammar_file)};
    if (options.regex) return llm::GrammarSource{Kind::Regex, *options.regex};
    if (options.json_object) return llm::GrammarSource{Kind::JsonObject, ""};
    return std::nullopt;
}

}  // namespace voltpile::cli
