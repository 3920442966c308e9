// Help and documentation of the job file, made from the table of keys.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "job/key_spec.h"

namespace voltpile {

// For the terminal: `voltpile help job threebody`.
std::string job_help(const AppSchema& app);

// docs/job_file.md, whole. A test compares the file in the repository with this.
std::string job_file_markdown(std::span<const AppSchema> apps);

// Breaks `text` at blanks so that no line is longer than `columns`, indentation included, unless a single
// word is. No newline at the end.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indentation);

}  // namespace voltpile
