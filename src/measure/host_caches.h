// Finds how large a processor's caches are.
#pragma once

#include <cstdint>
#include <vector>

namespace voltpile {

// Returns the bytes of all last-level caches that serve these hardware threads (-1: any thread, which counts
// as all), each once; 0 if the kernel does not say. In a virtual machine others may use them too.
std::int64_t last_level_cache_bytes(const std::vector<int>& pus);

// Returns how much memory host_read_rate() should read so that these threads' caches hold little of it: twice
// what they hold, but at least 256 MiB and at most 1 GiB. ranks: that measure on this host at the same time;
// each reads its part.
std::int64_t bytes_beyond_caches(const std::vector<int>& pus, int ranks);

}  // namespace voltpile
