// The command line: the table of commands, and what happens when none of them was asked for.
#pragma once

#include <vector>

#include "base/error.h"
#include "run/app.h"

namespace voltpile::cli {

// Runs the command that the arguments name, or prints the help or version they ask for. Messages about the
// arguments are printed on the first rank and give ExitCode::BadInput. Throws what the command throws,
// JobError for an unknown command, and Error if stdout did not take everything.
ExitCode run_command_line(int argc, char** argv, const std::vector<AppEntry>& apps);

}  // namespace voltpile::cli
