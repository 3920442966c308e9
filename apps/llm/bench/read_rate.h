// Measures how fast memory and files can be read. These are the upper bounds for generation, which reads all
// weights for each token, and for loading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/stream.h"

namespace voltpile::llm {

// Return the bytes a second of reading `bytes` of memory from end to end, the best of several rounds: on the
// current GPU `device`, or on the host with one thread on each of `pus` (-1: unbound). bytes: larger than all
// caches; on a GPU at most half of the free memory is used. Throws DeviceError.
double gpu_read_rate(int device, std::int64_t bytes, const Stream& stream);
double host_read_rate(std::int64_t bytes, const std::vector<int>& pus);

// Returns the bytes a second at which one thread reads the part [reader / readers, (reader + 1) / readers) of
// each file, from the page cache if it is there. Throws FileError.
double file_read_rate(const std::vector<std::string>& paths, int reader, int readers);

// Returns the resident memory of this process.
std::int64_t host_bytes_in_use();

}  // namespace voltpile::llm
