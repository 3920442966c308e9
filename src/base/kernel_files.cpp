#include "base/kernel_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace voltpile {

namespace fs = std::filesystem;

fs::path sys_folder() {
    const char* named = std::getenv("VOLTPILE_SYS");
    return named && *named ? named : "/sys";
}

std::string first_line(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        entries.push_back(it->path());
    std::ranges::sort(entries);
    return entries;
}

std::vector<Ancestor> ancestors_of_this_process() {
    std::vector<Ancestor> ancestors;
    for (int pid = getppid(), generation = 0; pid > 1 && generation < 8; ++generation) {
        ancestors.push_back({pid, first_line(fmt::format("/proc/{}/comm", pid))});
        // "pid (name) state parent ...": the name may hold anything, so search behind its last parenthesis.
        const std::string stat = first_line(fmt::format("/proc/{}/stat", pid));
        const auto close = stat.rfind(')');
        pid =
            close == std::string::npos || close + 4 >= stat.size() ? 0 : std::atoi(stat.c_str() + close + 4);
    }
    return ancestors;
}

}  // namespace voltpile
