// A clock that is VOLTPILE_STAND_IN_CLOCK_S seconds ahead; with VOLTPILE_STAND_IN_CLOCK_UNTIL_S until the
// monotonic clock has reached that time, when it jumps back. Programs get it through LD_PRELOAD.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long status = syscall(SYS_clock_gettime, clock, time);
    const char* const ahead = std::getenv("VOLTPILE_STAND_IN_CLOCK_S");
    if (status != 0 || clock != CLOCK_REALTIME || !ahead) return static_cast<int>(status);
    const char* const until = std::getenv("VOLTPILE_STAND_IN_CLOCK_UNTIL_S");
    timespec now{};
    if (until) syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    if (!until || now.tv_sec < std::atol(until)) time->tv_sec += std::atol(ahead);
    return static_cast<int>(status);
}
