#include "run/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>

#include "base/error.h"

namespace voltpile {

namespace {

sigset_t stop_set() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
    return set;
}

}  // namespace

StopSignals::StopSignals() {
    std::signal(SIGXFSZ, SIG_IGN);
    const sigset_t set = stop_set();
    if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
        throw FileError("block", "signals", error);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0) throw FileError("open", "signalfd", errno);
}

StopSignals::~StopSignals() {
    close(fd_);
}

void StopSignals::release() {
    received();  // what has come until now has been heard
    const sigset_t set = stop_set();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int StopSignals::received() {
    signalfd_siginfo info;
    while (read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) ++received_;
    return received_;
}

}  // namespace voltpile
