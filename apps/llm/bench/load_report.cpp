#include "llm/bench/load_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "llm/bench/llm_bench.h"
#include "results/hdf5/table_file.h"

namespace voltpile::llm {
namespace {

std::string lengths_text(const Lengths& lengths) {
    if (lengths.least == lengths.most) return fmt::format("{}", lengths.least);
    return fmt::format("{} to {}", lengths.least, lengths.most);
}

std::string load_text(const LoadSettings& settings) {
    const std::string when =
        settings.rate > 0 ? fmt::format("{:g} a second", settings.rate) : std::string("all at once");
    return fmt::format("{} requests, {}; prompts of {} tokens, {} generated", count_text(settings.requests),
                       when, lengths_text(settings.prompt), lengths_text(settings.generate));
}

std::string times_text(const char* name, const Quantiles& times) {
    return fmt::format("{:<22}{:>11.1f}{:>11.1f}\n", name, 1e3 * times.median, 1e3 * times.p99);
}

std::string interruption_text(const LoadReport& report) {
    const LoadResult& result = report.result;
    if (report.settings.interrupt_prompt == 0) return "";
    if (result.interruption_s == 0)
        return "interruption never came: the texts are too short for all to generate together\n";
    return times_text("  before the prompt", result.before_s) +
           times_text("  until its token", result.during_s) +
           fmt::format(
               "\ninterrupted  by a prompt of {}, whose first token took {:.3f} s; p99 {:.2f} times as "
               "long\n",
               count_text(report.settings.interrupt_prompt), result.interruption_s,
               result.during_s.p99 / result.before_s.p99);
}

nlohmann::json json_of(const Quantiles& times) {
    return {{"median_seconds", times.median}, {"p99_seconds", times.p99}};
}

double rate(std::int64_t tokens, double seconds) {
    return static_cast<double>(tokens) / seconds;
}

}  // namespace

std::string to_text(const LoadReport& report) {
    const LoadResult& r = report.result;
    std::string text = fmt::format("model        {}\nprocessor    {}\nload         {}\n", report.model,
                                   report.processor, load_text(report.settings));
    text += fmt::format("took         {:.3f} s\nin           {:.1f} tok/s ({} tokens)\n", r.seconds,
                        rate(r.tokens_in, r.seconds), count_text(r.tokens_in));
    text += fmt::format("out          {:.1f} tok/s ({} tokens)\n", rate(r.tokens_out, r.seconds),
                        count_text(r.tokens_out));
    text += fmt::format("batch        {:.1f} on average, {} at most, in {} passes\n", r.mean_batch,
                        r.largest_batch, count_text(r.passes));
    text += fmt::format("cache        {:.1f} % of {} tokens in use; {} preempted\n", 100 * r.cache_share,
                        count_text(report.cache_tokens), count_text(r.preemptions));
    text += fmt::format("busy         {:.1f} % of the time, at least\n", 100 * r.busy_share);
    text += fmt::format("\n{:<22}{:>11}{:>11}\n", "ms", "median", "p99");
    text += times_text("waiting", r.queue_s) + times_text("first token", r.first_token_s) +
            times_text("between tokens", r.between_tokens_s);
    return text + interruption_text(report);
}

std::string to_json(const LoadReport& report) {
    const LoadResult& r = report.result;
    const LoadSettings& s = report.settings;
    nlohmann::json out{{"model", report.model},
                       {"processor", report.processor},
                       {"requests", r.requests.size()},
                       {"rate", s.rate},
                       {"seed", s.seed},
                       {"sequences", report.sequences},
                       {"cache_tokens", report.cache_tokens},
                       {"seconds", r.seconds},
                       {"tokens_in", r.tokens_in},
                       {"tokens_out", r.tokens_out},
                       {"tokens_in_per_second", rate(r.tokens_in, r.seconds)},
                       {"tokens_out_per_second", rate(r.tokens_out, r.seconds)},
                       {"queue", json_of(r.queue_s)},
                       {"first_token", json_of(r.first_token_s)},
                       {"between_tokens", json_of(r.between_tokens_s)},
                       {"passes", r.passes},
                       {"mean_batch", r.mean_batch},
                       {"largest_batch", r.largest_batch},
                       {"cache_share", r.cache_share},
                       {"preemptions", r.preemptions},
                       {"busy_share", r.busy_share}};
    if (s.interrupt_prompt > 0)
        out["interruption"] = {{"prompt", s.interrupt_prompt},
                               {"first_token_seconds", r.interruption_s},
                               {"between_tokens_before", json_of(r.before_s)},
                               {"between_tokens_during", json_of(r.during_s)}};
    return out.dump();
}

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
