// The problem of the benchmark: the published map at any size.
#pragma once

#include "threebody/bench.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

Problem published_problem(const BenchOptions& options);

void bench_cpu(const BenchOptions& options);
void bench_gpu(const BenchOptions& options);

}  // namespace voltpile::threebody
