// Help and documentation of job files, generated from the table of keys.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "job/key_spec.h"

namespace voltpile {

// Returns the help for the terminal: `voltpile help job threebody`.
std::string job_help(const AppSchema& app);

// Returns the whole of docs/job_file.md. A test compares the file in the repository with it.
std::string job_file_markdown(std::span<const AppSchema> apps);

// Breaks text at spaces into lines of at most `columns` characters, indentation included. Longer words stay
// whole. The result has no newline at its end.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indentation);

}  // namespace voltpile
