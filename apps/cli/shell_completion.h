// Completion of the command line in bash and zsh, generated from the commands and options that the parser
// knows.
#pragma once

#include <string>

#include "cli/command_description.h"

namespace voltpile::cli {

// A script to source, or to install as share/bash-completion/completions/voltpile.
std::string bash_completion(const CommandDescription& top);

// A function file for a folder of zsh's fpath, where its name must be _voltpile.
std::string zsh_completion(const CommandDescription& top);

}  // namespace voltpile::cli
