#include "base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace voltpile {

void open_missing_streams() noexcept {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free number is `stream`, because those below it are open by now.
        (void)!open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    }
}

void print_stderr(std::string_view text) noexcept {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_error(std::string_view message) noexcept {
    print_stderr(message);
    print_stderr("\n");
}

}  // namespace voltpile
