// Manual pages in roff, generated from the same text as --help and `voltpile help job`.
#pragma once

#include <string>

#include "cli/command_description.h"
#include "job/key_spec.h"

namespace voltpile::cli {

// "voltpile-bench-llm" of the command "bench llm".
std::string manual_name(const CommandDescription& command);

// The page of a command, section 1. apps: the names of all apps, for the references at the end of the
// program's page.
std::string manual_page(const CommandDescription& command, const std::vector<std::string>& apps);

// "voltpile-job-threebody", section 5: the keys of the app's job files.
std::string job_manual_name(const AppSchema& app);
std::string job_manual_page(const AppSchema& app);

}  // namespace voltpile::cli
