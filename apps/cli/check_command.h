// `voltpile check`.
#pragma once

#include "cli/command.h"

namespace voltpile::cli {

void add_check(CLI::App& cli, Action& action);

}  // namespace voltpile::cli
