#include "comm/collective/staged_wait.h"
#include "device/launch.cuh"

namespace voltpile {

namespace {

__global__ void wait_for_host(const std::uint64_t* done, const std::uint64_t* abort, std::uint64_t* begun) {
    const std::uint64_t number = ++*begun;
    while (*static_cast<const volatile std::uint64_t*>(done) < number &&
           *static_cast<const volatile std::uint64_t*>(abort) == 0) {
    }
    __threadfence_system();
}

}  // namespace

void launch_wait_for_host(const std::uint64_t* done, const std::uint64_t* abort, std::uint64_t* begun,
                          const Stream& stream) {
    launch("wait for the host", wait_for_host, {1, 1, 0}, stream, done, abort, begun);
}

}  // namespace voltpile
