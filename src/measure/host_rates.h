// Measures the host's memory.
#pragma once

#include <cstdint>
#include <vector>

namespace voltpile {

// Returns the bytes per second of reading `bytes` of memory, more than all caches hold, the best of several
// rounds: with one thread on each of `pus` (-1: unbound), which reads memory that lies near it.
double host_read_rate(std::int64_t bytes, const std::vector<int>& pus);

}  // namespace voltpile
