// `voltpile bench rootmap`: measures a map of the plane beside the processor's own limit, without output.
#pragma once

#include <string>
#include <vector>

#include "rootmap/problem.h"
#include "sweep/outcome_field.h"

namespace voltpile {

// Defaults: the published Newton map, jobs/rootmap/newton_quintic.toml.
struct RootmapBenchOptions {
    std::string method = "newton";  // one of rootmap_bench_methods()
    std::string polynomial = "z^5 - z - 1";
    int width = 2700, height = 1500;  // points
    int iterations = 45;              // at most, of a point
    bool cpu = false;                 // on the CPU even if there is a GPU
};

// The methods that find roots.
std::vector<std::string> rootmap_bench_methods();

// Prints a table on stdout. Throws JobError for a wrong polynomial, and DeviceError.
void run_rootmap_bench(const RootmapBenchOptions& options);

namespace rootmap {

// A map that is measured.
struct BenchCase {
    Problem problem;
    std::vector<OutcomeField> fields;  // of each point, those of the published map
    std::int64_t points = 0;
    std::string title;

    std::size_t bytes_per_point() const;
};

void bench_gpu(const BenchCase& of);

}  // namespace rootmap
}  // namespace voltpile
