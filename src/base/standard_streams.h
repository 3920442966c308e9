// The standard streams of the process: open, and safe to write messages to.
#pragma once

#include <string>
#include <string_view>

namespace voltpile {

// Opens /dev/null for each of stdin, stdout and stderr that the caller of the program has closed, so that no
// file opened later gets number 0, 1 or 2 and takes in what is printed. Call it first in main().
void open_missing_streams() noexcept;

// Writes to stderr. A stderr that cannot be written to (full disk, closed pipe) loses the text: messages must
// neither end a job nor make an error path fail a second time. No SIGPIPE arrives. Thread-safe.
void print_stderr(std::string_view text) noexcept;

// Returns what is printed of a message, which may quote files: a ? replaces what terminals obey (one_line.h),
// ends of lines and tabs aside.
std::string printed_text(std::string_view message);

// Writes the printed text of a message of one line or more to stderr in the same way, and ends its last line.
void print_error(std::string_view message) noexcept;

// Sends spdlog's messages to stderr under the same promises, as "error: ...", in color on a terminal. Call it
// once, at the start of main().
void log_to_stderr();

}  // namespace voltpile
