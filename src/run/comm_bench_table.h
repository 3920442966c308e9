// Turns the measurements of `bench comm` into text and into a file. Rank 0 only.
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

// One line per pair: the link, its theoretical figure, and for each path the shortest latency and the highest
// bandwidth with its share of that figure.
std::string pairs_text(const std::vector<PairResult>& pairs);

// One line per size of one pair, one column per path: latency and bandwidth.
std::string sizes_text(const PairResult& pair);

// Writes the table, and charts of it beside it with the extension .svg. Throws FileError.
void write_comm_bench(const CommBenchResult& result, const Plan& plan, const CommBenchOptions& options);

}  // namespace voltpile
