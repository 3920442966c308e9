#include "llm/model/forget_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace voltpile::llm {

void forget_pages(const std::byte* data, std::size_t bytes) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(data) / page * page;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(data) + bytes;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // of a file, so nothing is lost
}

}  // namespace voltpile::llm
