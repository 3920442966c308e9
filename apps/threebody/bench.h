// `voltpile bench threebody`: measures the published map beside the processor's own limits and simpler
// algorithms.
#pragma once

namespace voltpile {

struct BenchOptions {
    int size = 1000;  // the map has size x size points
    int steps = 50000;
    bool cpu = false;  // on the CPU even if there is a GPU
};

// Prints a table. Throws DeviceError.
void run_bench(const BenchOptions& options);

}  // namespace voltpile
