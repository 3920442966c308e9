#include "llm/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "results/hdf5/table_file.h"
#include "run/provenance.h"

namespace voltpile::llm {
namespace {

double worst_rate(const std::vector<LlmBenchRank>& ranks) {
    const auto rate = [](const LlmBenchRank& rank) {
        return rank.load_s > 0 ? rank.loaded_bytes / rank.load_s : 0;
    };
    return rate(*std::ranges::min_element(ranks, {}, rate));
}

std::string rate_text(double bytes_per_s) {
    return bytes_text(bytes_per_s) + "/s";
}

// Lists the GPU memory that does not belong to the model.
std::string gpu_memory_text(const LlmBenchRank& rank) {
    if (rank.context_bytes == 0) return "";
    std::string text =
        fmt::format("; of it {} by kernels and recorded passes\n             besides {} by CUDA",
                    bytes_text(rank.pass_bytes), bytes_text(rank.context_bytes));
    if (rank.link_bytes > 0) text += fmt::format(", {} to connect the ranks", bytes_text(rank.link_bytes));
    return text;
}

std::string ranks_text(const LlmBenchResult& result) {
    const auto least = [&](double LlmBenchRank::*member) {
        return (*std::ranges::min_element(result.ranks, {}, member)).*member;
    };
    const LlmBenchRank& fullest = *std::ranges::max_element(result.ranks, {}, &LlmBenchRank::measured_bytes);
    const double rate = worst_rate(result.ranks), file = least(&LlmBenchRank::file_rate);
    std::string text = fmt::format("loading      {} a rank", rate_text(rate));
    if (result.in_files)
        text = fmt::format(
            "loading      none: the weights stay in the mapped files, which are read at {} a rank",
            rate_text(file));
    else if (file > 0)
        text += fmt::format(", {:.0f} % of reading its part of the files ({})", 100 * rate / file,
                            rate_text(file));
    text += fmt::format("\nmemory       {} of the fullest rank, {} planned ({:+.1f} %){}\n",
                        bytes_text(fullest.measured_bytes), bytes_text(fullest.planned_bytes),
                        100 * (fullest.measured_bytes / fullest.planned_bytes - 1), gpu_memory_text(fullest));
    text += fmt::format("bandwidth    {} of memory, read by every rank at once",
                        rate_text(least(&LlmBenchRank::read_rate)));
    if (result.weight_bytes < least(&LlmBenchRank::cache_bytes))
        text += fmt::format("\n             the weights ({}) may stay in the caches ({}), which are faster",
                            bytes_text(result.weight_bytes), bytes_text(least(&LlmBenchRank::cache_bytes)));
    return text + "\n";
}

}  // namespace

std::string to_text(const LlmBenchResult& result) {
    std::string text = fmt::format("model        {}\nprocessor    {}\n", result.model, result.processor);
    text += ranks_text(result);
    text += fmt::format("\n{:<12}{:>7}{:>9}{:>11}{:>11}{:>14}{:>14}\n", "", "batch", "context", "tok/s", "ms",
                        "weights", "of bandwidth");
    for (const LlmBenchRow& row : result.rows) {
        text += fmt::format("{:<12}{:>7}{:>9}{:>11.1f}{:>11.2f}", row.pass, row.batch, row.context,
                            row.tokens_per_s, 1e3 * row.seconds);
        if (row.weights_per_s > 0)
            text += fmt::format("{:>14}{:>12.1f} %", rate_text(row.weights_per_s), 100 * row.bandwidth_share);
        text += "\n";
    }
    std::string pass;
    for (const LlmBenchOp& op : result.operations) {
        if (op.pass != pass)
            text += fmt::format("\n{:<32}{:>12}{:>9}\n", op.pass + " by operation", "us a pass", "share");
        pass = op.pass;
        text += fmt::format("{:<32}{:>12.1f}{:>7.1f} %\n", op.name, 1e6 * op.seconds, 100 * op.share);
    }
    return text;
}

std::string to_json(const LlmBenchResult& result) {
    using nlohmann::json;
    json out{{"model", result.model},
             {"processor", result.processor},
             {"tensor", result.tensor},
             {"pipeline", result.pipeline},
             {"weight_bytes", result.weight_bytes},
             {"rows", json::array()},
             {"operations", json::array()},
             {"ranks", json::array()}};
    for (const LlmBenchRow& row : result.rows)
        out["rows"].push_back({{"pass", row.pass},
                               {"batch", row.batch},
                               {"context", row.context},
                               {"seconds", row.seconds},
                               {"tokens_per_second", row.tokens_per_s},
                               {"weight_bytes_per_second", row.weights_per_s},
                               {"bandwidth_share", row.bandwidth_share}});
    for (const LlmBenchOp& op : result.operations)
        out["operations"].push_back(
            {{"pass", op.pass}, {"name", op.name}, {"seconds", op.seconds}, {"share", op.share}});
    for (const LlmBenchRank& rank : result.ranks)
        out["ranks"].push_back({{"read_bytes_per_second", rank.read_rate},
                                {"cache_bytes", rank.cache_bytes},
                                {"loaded_bytes", rank.loaded_bytes},
                                {"load_seconds", rank.load_s},
                                {"file_bytes_per_second", rank.file_rate},
                                {"planned_bytes", rank.planned_bytes},
                                {"measured_bytes", rank.measured_bytes},
                                {"context_bytes", rank.context_bytes},
                                {"link_bytes", rank.link_bytes},
                                {"pass_bytes", rank.pass_bytes}});
    return out.dump();
}

void write_llm_bench(const LlmBenchResult& result, const Plan& plan, const LlmBenchOptions& options) {
    std::vector<std::string> pass;
    std::vector<std::int64_t> batch, context;
    std::vector<double> seconds, tokens, weights, share;
    for (const LlmBenchRow& row : result.rows) {
        pass.push_back(row.pass);
        batch.push_back(row.batch);
        context.push_back(row.context);
        seconds.push_back(row.seconds);
        tokens.push_back(row.tokens_per_s);
        weights.push_back(row.weights_per_s);
        share.push_back(row.bandwidth_share);
    }
    const std::vector<TableColumn> columns{
        {"pass", "", "prompt or generation", pass},
        {"batch", "1", "texts at once", batch},
        {"context", "1", "tokens of each prompt, or before what is generated", context},
        {"time", "s", "of all prompts, or of a token of each text", seconds},
        {"rate", "1/s", "tokens of all texts", tokens},
        {"weight_rate", "byte/s", "weights that a rank reads in generation", weights},
        {"bandwidth_share", "1", "weight_rate over what reading memory gives", share}};
    write_table(options.output, llm_bench_title, columns, make_provenance(plan, options.command_line),
                {{"model", result.model}, {"measurements", to_json(result)}});
}

}  // namespace voltpile::llm
