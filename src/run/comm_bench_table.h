// What bench comm has measured, as text and as a file. Rank 0.
#pragma once

#include <string>
#include <vector>

#include "comm/channel/pair_bench.h"
#include "comm/collective/bench.h"
#include "plan/links.h"
#include "run/comm_bench.h"

namespace voltpile {

struct PairResult {
    int from = 0, to = 0;
    RankLink link;
    std::vector<PairBenchRow> rows;
};

struct CommBenchResult {
    std::vector<CollectiveBenchRow> collectives;
    std::vector<PairResult> pairs;
};

// A line for each pair: the link, its theoretical figure, and for each way the shortest latency and the
// highest bandwidth with its share of that figure.
std::string pairs_text(const std::vector<PairResult>& pairs);

// A line for each size of one pair, a column for each way: latency and bandwidth.
std::string sizes_text(const PairResult& pair);

// The table, and charts of it beside it, with the ending .svg. Throws FileError.
void write_comm_bench(const CommBenchResult& result, const Plan& plan, const CommBenchOptions& options);

}  // namespace voltpile
