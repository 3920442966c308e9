// `voltpile model quantize`.
#pragma once

#include "cli/command.h"

namespace voltpile::cli {

void add_quantize(CLI::App& model, Action& action);

}  // namespace voltpile::cli
