// The memory of this machine.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace voltpile {

// Returns its bytes, also those that a virtual machine got after its start; 0 if the system does not say.
inline std::uint64_t physical_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
}

}  // namespace voltpile
