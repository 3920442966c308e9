#include "cluster/supervisor/marked_processes.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <set>
#include <thread>

#include "base/file_text.h"
#include "base/kernel_files.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = 20ms;       // between two looks at /proc
constexpr auto kKillPatience = 2s;  // a process that is not in the kernel ends at once

// Returns 0 for an entry of /proc that is not a process.
pid_t process_number(const std::string& name) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    return error == std::errc() && end == name.data() + name.size() ? pid : 0;
}

bool file_contains(const std::filesystem::path& file, const std::string& text) {
    return file_text(file).find(text) != std::string::npos;
}

}  // namespace

std::vector<MarkedProcess> find_marked(const std::string& mark) {
    std::vector<MarkedProcess> found;
    for (const std::filesystem::path& entry : sorted_entries("/proc")) {
        const pid_t pid = process_number(entry.filename().string());
        if (pid <= 0 || pid == getpid()) continue;
        if (file_contains(entry / "environ", std::string(kLaunchMark) + "=" + mark) ||
            file_contains(entry / "cmdline", mark))
            found.push_back({pid, first_line(entry / "comm")});
    }
    return found;
}

std::vector<MarkedProcess> end_marked(const std::string& mark, std::chrono::milliseconds grace) {
    const auto begin = Clock::now();
    std::set<pid_t> asked;  // a second SIGTERM makes mpirun and ranks leave without cleaning up
    for (;;) {
        std::vector<MarkedProcess> left = find_marked(mark);
        const auto now = Clock::now();
        if (left.empty() || now > begin + grace + kKillPatience) return left;
        for (const MarkedProcess& process : left)
            if (now >= begin + grace)
                kill(process.pid, SIGKILL);
            else if (asked.insert(process.pid).second)
                kill(process.pid, SIGTERM);
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace voltpile
