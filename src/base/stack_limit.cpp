#include "base/stack_limit.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/error.h"

namespace voltpile {
namespace {

constexpr rlim_t kLeastBytes = rlim_t{1} << 20;
constexpr rlim_t kUsualBytes = rlim_t{8} << 20;

}  // namespace

void raise_stack_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastBytes) return;
    const rlim_t found = limit.rlim_cur;
    limit.rlim_cur = kUsualBytes;
    if (limit.rlim_max < kLeastBytes)
        limit.rlim_max = kUsualBytes;  // takes a privilege
    else
        limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
    if (setrlimit(RLIMIT_STACK, &limit) != 0)
        throw MachineError(fmt::format(
            "the stack is limited to {} KiB, which is too little: raise the limit (ulimit -s 8192)",
            found >> 10));
    // The C library has derived the size of other threads' stacks from the limit at start.
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, limit.rlim_cur);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

}  // namespace voltpile
