// Finds how large a processor's caches are.
#pragma once

#include <cstdint>
#include <vector>

namespace voltpile {

// Returns the bytes of all last-level caches that serve these hardware threads (-1: any thread, which counts
// as all), each once; 0 if the kernel does not say. In a virtual machine others may use them too.
std::int64_t last_level_cache_bytes(const std::vector<int>& pus);

}  // namespace voltpile
