// `voltpile bench threebody`: measures the published map beside the processor's own limits and simpler
// algorithms.
#pragma once

#include <string>
#include <vector>

#include "threebody/problem.h"

namespace voltpile {

struct BenchOptions {
    int size = 0;  // the map has size x size points; 0: 1000 on a GPU, on a CPU what takes some seconds
    int steps = 50000;
    std::string method = "euler";  // as in integrate.method; on a GPU only
    double tolerance = 1e-9;       // of an adaptive method
    bool cpu = false;              // on the CPU even if there is a GPU
};

// Returns the choices of BenchOptions::method.
std::vector<std::string> threebody_method_names();

// Prints a table on stdout and the progress of long measurements on stderr. Throws DeviceError.
void run_bench(const BenchOptions& options);

namespace threebody {

inline constexpr int published_size = 1000;

// Returns the published map at any size and with any method. options.size must be at least 1.
Problem published_problem(const BenchOptions& options);

// Returns the edge of a square map that takes about `seconds` at pairs_per_s whole pairs per second: at least
// 32, at most the published map's.
int map_size_for(double pairs_per_s, double seconds);

void bench_cpu(const BenchOptions& options);
void bench_gpu(const BenchOptions& options);

// Measures options.method alone, on the GPU: its kernel time and, of an adaptive method, its errors.
void bench_gpu_method(const BenchOptions& options);

}  // namespace threebody
}  // namespace voltpile
