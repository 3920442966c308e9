// `voltpile bench threebody`: measures the published map beside the processor's own limits and simpler
// algorithms.
#pragma once

namespace voltpile {

struct BenchOptions {
    int size = 0;  // the map has size x size points; 0: 1000 on a GPU, on a CPU what takes some seconds
    int steps = 50000;
    bool cpu = false;  // on the CPU even if there is a GPU
};

// Prints a table on stdout and the progress of long measurements on stderr. Throws DeviceError.
void run_bench(const BenchOptions& options);

}  // namespace voltpile
