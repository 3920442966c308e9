#include "llm/bench/load_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
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
    std::string when = "all at once";
    if (settings.rate > 0) when = fmt::format("{:g} a second", settings.rate);
    if (settings.clients > 0) when = fmt::format("{} at a time", count_text(settings.clients));
    std::string text =
        fmt::format("{} requests, {}; prompts of {} tokens, {} generated", count_text(settings.requests),
                    when, lengths_text(settings.prompt), lengths_text(settings.generate));
    if (settings.prompts > 0) text += fmt::format("; {} prompts", count_text(settings.prompts));
    return text;
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
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

std::string engine_text(const EngineLoad& engine) {
    return fmt::format(
               "batch        {:.1f} on average, {} at most, in {} passes\n"
               "cache        {:.1f} % of {} tokens in use; {} preempted\n"
               "busy         {:.1f} % of the time, at least\n",
               engine.mean_batch, engine.largest_batch, count_text(engine.passes), 100 * engine.cache_share,
               count_text(engine.cache_tokens), count_text(engine.preemptions), 100 * engine.busy_share) +
           (engine.drafted_tokens > 0
                ? fmt::format("guesses      {} of {} right\n", count_text(engine.right_tokens),
                              count_text(engine.drafted_tokens))
                : "");
}

// The number of errors, then each of the most frequent messages with its count.
std::string errors_text(const std::vector<std::string>& errors) {
    constexpr std::size_t shown = 5;
    std::map<std::string, std::int64_t> counts;
    for (const std::string& error : errors) ++counts[error];
    std::vector<std::pair<std::string, std::int64_t>> most(counts.begin(), counts.end());
    std::ranges::stable_sort(most, std::greater(), &std::pair<std::string, std::int64_t>::second);
    std::string text = fmt::format("errors       {}\n", count_text(std::ssize(errors)));
    for (std::size_t i = 0; i < most.size() && i < shown; ++i)
        text += fmt::format("{:>9} x  {}\n", count_text(most[i].second), most[i].first);
    if (most.size() > shown) text += fmt::format("           and {} other messages\n", most.size() - shown);
    return text;
}

std::string result_text(const LoadResult& r, bool server) {
    std::string text = fmt::format("took         {:.3f} s\nin           {:.1f} tok/s ({} tokens)\n",
                                   r.seconds, rate(r.tokens_in, r.seconds), count_text(r.tokens_in));
    text += fmt::format("out          {:.1f} tok/s ({} tokens)\n", rate(r.tokens_out, r.seconds),
                        count_text(r.tokens_out));
    if (r.engine) text += engine_text(*r.engine);
    if (server) text += errors_text(r.errors);
    text += fmt::format("\n{:<22}{:>11}{:>11}\n", "ms", "median", "p99");
    if (r.engine) text += times_text("waiting", r.engine->queue_s);
    return text + times_text("first token", r.first_token_s) +
           times_text("between tokens", r.between_tokens_s);
}

std::string grammar_text(const LoadReport& report) {
    if (!report.within_grammar) return "";
    const LoadResult& r = *report.within_grammar;
    return fmt::format(
        "\nwithin the grammar\n{}\nmasks        take {:.1f} % more time between tokens, {:.1f} % "
        "more in the median\n",
        result_text(r, false), 100 * (mean_between_tokens(r) / mean_between_tokens(report.result) - 1),
        100 * (r.between_tokens_s.median / report.result.between_tokens_s.median - 1));
}

nlohmann::json json_of(const LoadResult& r) {
    nlohmann::json out{{"requests", r.requests.size()},
                       {"seconds", r.seconds},
                       {"tokens_in", r.tokens_in},
                       {"tokens_out", r.tokens_out},
                       {"tokens_in_per_second", rate(r.tokens_in, r.seconds)},
                       {"tokens_out_per_second", rate(r.tokens_out, r.seconds)},
                       {"first_token", json_of(r.first_token_s)},
                       {"between_tokens", json_of(r.between_tokens_s)}};
    if (r.engine) {
        const EngineLoad& engine = *r.engine;
        out.update({{"sequences", engine.sequences},
                    {"cache_tokens", engine.cache_tokens},
                    {"queue", json_of(engine.queue_s)},
                    {"passes", engine.passes},
                    {"mean_batch", engine.mean_batch},
                    {"largest_batch", engine.largest_batch},
                    {"cache_share", engine.cache_share},
                    {"preemptions", engine.preemptions},
                    {"drafted_tokens", engine.drafted_tokens},
                    {"right_tokens", engine.right_tokens},
                    {"busy_share", engine.busy_share}});
    }
    return out;
}

}  // namespace

std::string to_text(const LoadReport& report) {
    std::string text = fmt::format("model        {}\n", report.model);
    text += report.server.empty() ? fmt::format("processor    {}\n", report.processor)
                                  : fmt::format("server       {}\n", report.server);
    text += fmt::format("load         {}\n", load_text(report.settings));
    return text + result_text(report.result, !report.server.empty()) + interruption_text(report) +
           grammar_text(report);
}

std::string to_json(const LoadReport& report) {
    const LoadResult& r = report.result;
    const LoadSettings& s = report.settings;
    nlohmann::json out = json_of(r);
    out.update({{"model", report.model}, {"rate", s.rate}, {"seed", s.seed}});
    if (!report.processor.empty()) out["processor"] = report.processor;
    if (!report.server.empty()) {
        out["server"] = report.server;
        out["clients"] = s.clients;
        out["errors"] = r.errors;
    }
    if (report.within_grammar) out["within_grammar"] = json_of(*report.within_grammar);
    if (s.interrupt_prompt > 0)
        out["interruption"] = {{"prompt", s.interrupt_prompt},
                               {"all_generate_seconds", r.all_generate_at_s},
                               {"arrival_seconds", r.interrupted_at_s},
                               {"first_token_seconds", r.interruption_s},
                               {"between_tokens_before", json_of(r.before_s)},
                               {"between_tokens_during", json_of(r.during_s)}};
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_load(const std::filesystem::path& path, const LoadReport& report, const Provenance& provenance) {
    std::vector<std::int64_t> tokens_in, tokens_out;
    std::vector<double> arrival, queued, first, end;
    std::vector<std::vector<double>> between;
    for (const RequestTimes& request : report.result.requests) {
        const std::vector<double>& tokens = request.tokens_s;
        tokens_in.push_back(request.tokens_in);
        tokens_out.push_back(request.tokens_out);
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
