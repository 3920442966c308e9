#include "base/bind_thread.h"

#include <pthread.h>
#include <sched.h>

#include <cstddef>

namespace voltpile {

void bind_this_thread(std::span<const int> pus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int pu : pus)
        for (int each = pu < 0 ? 0 : pu; each < (pu < 0 ? CPU_SETSIZE : pu + 1); ++each)
            CPU_SET(static_cast<std::size_t>(each), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void bind_this_thread(int pu) {
    bind_this_thread(std::span(&pu, 1));
}

}  // namespace voltpile
