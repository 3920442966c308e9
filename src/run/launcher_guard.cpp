#include "run/launcher_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "run/parent_launcher.h"

namespace voltpile {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr char kMessage[] =
    "voltpile: mpirun does not end, because it waits for a node that is down or whose link is cut: ending "
    "it\n";

// The rest of this namespace runs after a fork in a process with threads, so it may only make system calls.

// Returns a descriptor that becomes readable when the process ends; -1 if it has ended, or if the kernel is
// older than Linux 5.3 and cannot tell.
int watch(pid_t pid) {
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

bool ends_within(int process, Milliseconds time) {
    pollfd end{process, POLLIN, 0};
    return process < 0 || poll(&end, 1, static_cast<int>(time.count())) > 0;
}

[[noreturn]] void guard(pid_t launcher, pid_t caller, const char* launcher_stderr, Milliseconds grace) {
    constexpr Milliseconds kPause{1500};
    setsid();  // mpirun kills the process groups of its ranks
    // mpirun waits for the end of its ranks' output, so nothing of it may stay open here.
    syscall(SYS_close_range, 0U, ~0U, 0U);
    const int output = open(launcher_stderr, O_WRONLY | O_NOCTTY);
    const int launcher_end = watch(launcher), caller_end = watch(caller);
    if (!ends_within(launcher_end, grace)) {
        if (output >= 0) (void)!write(output, kMessage, std::strlen(kMessage));
        for (const int signal : {SIGTERM, SIGTERM, SIGKILL}) {
            kill(launcher, signal);
            if (ends_within(launcher_end, kPause)) break;
        }
    }
    if (!ends_within(caller_end, kPause)) kill(caller, SIGKILL);
    _exit(0);
}

}  // namespace

bool mpirun_spans_hosts() {
    const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
    return here && all && std::atoi(here) < std::atoi(all) && !std::getenv("SLURM_JOB_ID");
}

void end_launcher_after(std::chrono::seconds grace) noexcept {
    try {
        const std::optional<Launcher> launcher = find_launcher();
        if (!launcher || launcher->name == "orted" || launcher->name == "prted") return;
        const std::string its_stderr = fmt::format("/proc/{}/fd/2", launcher->pid);
        const pid_t caller = getpid();
        if (fork() == 0) guard(launcher->pid, caller, its_stderr.c_str(), grace);
    } catch (const std::exception&) {  // out of memory: mpirun is left as it is
        return;
    }
}

}  // namespace voltpile
