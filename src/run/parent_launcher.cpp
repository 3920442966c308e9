#include "run/parent_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/kernel_files.h"

namespace voltpile {

std::optional<Launcher> find_launcher() {
    static constexpr std::array<std::string_view, 6> names{"mpirun",  "mpiexec", "orterun",
                                                           "prterun", "orted",   "prted"};
    for (const Ancestor& ancestor : ancestors_of_this_process())
        if (std::ranges::find(names, ancestor.name) != names.end())
            return Launcher{ancestor.pid, ancestor.name};
    return std::nullopt;
}

int terminal_columns() {
    const auto columns_of = [](int fd) {
        winsize size{};
        if (isatty(fd) != 1) return 0;
        return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? static_cast<int>(size.ws_col) : 80;
    };
    const auto launcher = find_launcher();
    if (!launcher) return columns_of(STDERR_FILENO);
    const int fd = open(fmt::format("/proc/{}/fd/2", launcher->pid).c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return 0;
    const int columns = columns_of(fd);
    close(fd);
    return columns;
}

}  // namespace voltpile
