// Memory that runs out once: after SIGWINCH, the next `new` of the main thread that wants at least 1,000
// bytes throws. Programs get it through LD_PRELOAD.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>

namespace {

volatile std::sig_atomic_t fails = 0;

const auto previous = std::signal(SIGWINCH, [](int) { fails = 1; });

}  // namespace

void* operator new(std::size_t size) {
    if (fails != 0 && size >= 1000 && gettid() == getpid()) {
        fails = 0;
        throw std::bad_alloc();
    }
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
