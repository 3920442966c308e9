#pragma once

#include <chrono>

namespace voltpile {

// Returns the seconds since 1970-01-01 00:00 UTC by the system's clock, which people may set.
inline double unix_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace voltpile
