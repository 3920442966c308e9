// The problem of the benchmark: the published map at any size.
#pragma once

#include "threebody/bench.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

inline constexpr int published_size = 1000;

// options.size must be at least 1.
Problem published_problem(const BenchOptions& options);

// Returns the edge of a square map that takes about `seconds` at pairs_per_s whole pairs per second: at least
// 32, at most the published map's.
int map_size_for(double pairs_per_s, double seconds);

void bench_cpu(const BenchOptions& options);
void bench_gpu(const BenchOptions& options);

}  // namespace voltpile::threebody
