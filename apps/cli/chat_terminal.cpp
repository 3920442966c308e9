#include "cli/chat_terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/standard_streams.h"
#include "cli/process_rank.h"

namespace voltpile::cli {
namespace {

// A terminal's line discipline silently drops what is longer (N_TTY_BUF_SIZE less the newline).
constexpr std::size_t longest_typed_line = 4095;

bool is_blank(const std::string& line) {
    return line.find_first_not_of(" \t") == std::string::npos;
}

}  // namespace

OwnTerminal::OwnTerminal(bool json)
    : json_(json), interactive_(isatty(STDIN_FILENO) != 0), dim_(isatty(STDERR_FILENO) != 0) {}

std::optional<std::string> OwnTerminal::question() {
    for (;;) {
        if (interactive_) {
            print_stderr("> ");
        }
        std::string line;
        if (!std::getline(std::cin, line)) {
            if (interactive_) print_stderr("\n");
            return std::nullopt;
        }
        if (line.ends_with('\r')) line.pop_back();
        if (line == "/exit") return std::nullopt;
        if (is_blank(line)) continue;
        if (!interactive_ || line.size() < longest_typed_line) return line;
        remark(fmt::format(
            "not sent: the terminal keeps {} bytes of a line, so the end of this one may be missing; "
            "send longer lines from a file (voltpile chat MODEL < FILE)",
            longest_typed_line));
    }
}

void OwnTerminal::answer(const std::string& text) {
    if (json_) return;
    fmt::print("{}", text);
    std::fflush(stdout);
}

void OwnTerminal::line(const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
}

void OwnTerminal::remark(const std::string& text) {
    settle_stdout();
    if (dim_)
        print_stderr(fmt::format("\033[2m{}\033[0m\n", printed_text(text)));
    else
        print_error(text);
}

}  // namespace voltpile::cli
