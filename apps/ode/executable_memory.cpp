#include "ode/executable_memory.h"

#include <sys/mman.h>

#include <cstring>

namespace voltpile::ode {

ExecutableMemory::ExecutableMemory(std::span<const std::uint8_t> code) {
    void* const memory =
        ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    std::memcpy(memory, code.data(), code.size());
    if (::mprotect(memory, code.size(), PROT_READ | PROT_EXEC) != 0) {
        ::munmap(memory, code.size());
        return;
    }
    begin_ = memory;
    bytes_ = code.size();
}

ExecutableMemory::~ExecutableMemory() {
    if (begin_) ::munmap(begin_, bytes_);
}

}  // namespace voltpile::ode
