#include "llm/bench/load_file.h"

#include "llm/bench/llm_bench.h"
#include "results/hdf5/table_file.h"

namespace voltpile::llm {

void write_load(const std::filesystem::path& path, const LoadReport& report, const Provenance& provenance) {
    std::vector<std::int64_t> tokens_in, tokens_out;
    std::vector<double> arrival, queued, first, end;
    std::vector<std::vector<double>> between;
    for (const RequestTimes& request : report.result.requests) {
        const std::vector<double>& tokens = request.tokens_s;
        tokens_in.push_back(request.tokens_in);
        tokens_out.push_back(std::ssize(tokens));
        arrival.push_back(request.arrival_s);
        queued.push_back(request.queued_s);
        first.push_back(tokens.front());
        end.push_back(tokens.back());
        std::vector<double>& gaps = between.emplace_back();
        for (std::size_t i = 1; i < tokens.size(); ++i) gaps.push_back(tokens[i] - tokens[i - 1]);
    }
    write_table(path, llm_bench_title,
                {{"arrival", "s", "when the request came, since the load began", arrival},
                 {"queued", "s", "from its arrival until it was admitted", queued},
                 {"first_token", "s", "when its first token was there, since the load began", first},
                 {"end", "s", "when its last token was there, since the load began", end},
                 {"tokens_in", "1", "tokens of its prompt", tokens_in},
                 {"tokens_out", "1", "tokens generated", tokens_out},
                 {"between_tokens", "s", "time from each of its tokens to the next", between}},
                provenance, {{"model", report.model}, {"measurements", to_json(report)}});
}

}  // namespace voltpile::llm
