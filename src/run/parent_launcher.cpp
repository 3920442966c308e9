#include "run/parent_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string_view>

namespace voltpile {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

int parent_of(int pid) {
    // "pid (name) state parent ...": the name may hold anything, so search behind its last parenthesis.
    const std::string stat = first_line(fmt::format("/proc/{}/stat", pid));
    const auto close = stat.rfind(')');
    if (close == std::string::npos || close + 4 >= stat.size()) return 0;
    return std::atoi(stat.c_str() + close + 4);
}

}  // namespace

std::optional<Launcher> find_launcher() {
    static constexpr std::array<std::string_view, 6> names{"mpirun",  "mpiexec", "orterun",
                                                           "prterun", "orted",   "prted"};
    int pid = getppid();
    for (int generation = 0; generation < 8 && pid > 1; ++generation, pid = parent_of(pid)) {
        const std::string name = first_line(fmt::format("/proc/{}/comm", pid));
        for (std::string_view known : names)
            if (name == known) return Launcher{pid, name};
    }
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
