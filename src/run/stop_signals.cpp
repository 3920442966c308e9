#include "run/stop_signals.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include "base/error.h"

namespace voltpile {
namespace {

sigset_t stop_set() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
    return set;
}

// Whether the process that started this one is mpirun, or its daemon on this host.
bool started_by_open_mpi() {
    std::ifstream file(fmt::format("/proc/{}/comm", getppid()));
    std::string name;
    std::getline(file, name);
    constexpr std::array launchers{"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"};
    return std::ranges::find(launchers, name) != launchers.end();
}

}  // namespace

void block_stop_signals() noexcept {
    const sigset_t set = stop_set();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignals::StopSignals() {
    block_stop_signals();
    std::signal(SIGXFSZ, SIG_IGN);
    const sigset_t set = stop_set();
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0) throw FileError("open", "signalfd", errno);
}

StopSignals::~StopSignals() {
    close(fd_);
}

int StopSignals::received() {
    signalfd_siginfo info;
    while (read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        ++received_;
        const bool by_parent = info.ssi_signo == SIGTERM && static_cast<pid_t>(info.ssi_pid) == getppid();
        if (by_parent && started_by_open_mpi()) launcher_ends_job_ = true;
    }
    return received_;
}

void StopSignals::wait(int milliseconds) const {
    pollfd signal{fd_, POLLIN, 0};
    poll(&signal, 1, milliseconds);
}

}  // namespace voltpile
