// The command line as plain data: what manual pages and shell completions are generated from.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace voltpile::cli {

struct ArgumentDescription {
    std::vector<std::string> names;  // "-o", "--output"; a positional argument has one: "JOB"
    std::string value;               // name of the value, "FILE"; empty for a flag
    std::vector<std::string> choices;
    std::string help;
    bool positional = false;
    bool required = false;
    bool repeatable = false;

    // Whether the value is a path.
    bool takes_path() const;
};

struct CommandDescription {
    std::string name;  // as typed after the program's name: "bench llm"; empty for the program itself
    std::string summary;
    std::string footer;
    std::vector<ArgumentDescription> arguments;  // without hidden ones
    std::vector<CommandDescription> commands;    // without hidden ones
};

// Describes `command` and all commands below it. `name`: the words typed after the program's name.
CommandDescription describe_command(const CLI::App& command, const std::string& name = "");

// `top` and all commands below it, each before its own commands.
std::vector<const CommandDescription*> all_commands(const CommandDescription& top);

}  // namespace voltpile::cli
