// Help and documentation of the job file, made from the table of keys.
#pragma once

#include <span>
#include <string>

#include "job/key_spec.h"

namespace voltpile {

// For the terminal: `voltpile help job threebody`.
std::string job_help(const AppSchema& app);

// docs/job_file.md, whole. A test compares the file in the repository with this.
std::string job_file_markdown(std::span<const AppSchema> apps);

}  // namespace voltpile
