// How fast memory and files can be read at all: what generation, which reads all weights for each token, and
// loading are held against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/stream.h"

namespace voltpile::llm {

// Bytes a second of reading `bytes` of memory from end to end, the best of several rounds: of the GPU
// `device`, which is the current one, or of the host, with one thread on each of `pus` (-1: unbound). bytes:
// enough to be beyond all caches; on the GPU at most half of what is free. Throws DeviceError.
double gpu_read_rate(int device, std::int64_t bytes, const Stream& stream);
double host_read_rate(std::int64_t bytes, const std::vector<int>& pus);

// Bytes a second of reading the part [reader / readers, (reader + 1) / readers) of each file, by one thread,
// from the page cache if it is there. Throws FileError.
double file_read_rate(const std::vector<std::string>& paths, int reader, int readers);

// Of this process, as far as it is resident.
std::int64_t host_bytes_in_use();

}  // namespace voltpile::llm
