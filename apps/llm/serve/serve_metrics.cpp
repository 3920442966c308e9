#include "llm/serve/serve_metrics.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "http/metric_writer.h"
#include "llm/serve/event_text.h"

namespace voltpile::llm {
namespace {

using http::MetricWriter;

constexpr std::array<std::string_view, 5> kReasons{"stop", "length", "abort", "error", "context"};

constexpr std::array first_token_bounds{0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,
                                        0.5,   0.75,  1.0,   2.5,  5.0,  7.5,  10.0, 20.0, 40.0, 80.0};
constexpr std::array between_bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15,
                                    0.2,   0.3,    0.4,   0.5,  0.75,  1.0,  2.5,   5.0, 10.0};
constexpr std::array request_bounds{0.01, 0.03, 0.1,   0.3,   0.5,   0.8,   1.0,   1.5,
                                    2.0,  2.5,  5.0,   10.0,  15.0,  20.0,  30.0,  40.0,
                                    50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0};
constexpr std::array token_bounds{1.0,   2.0,    5.0,    10.0,   20.0,    50.0,    100.0,   200.0,
                                  500.0, 1000.0, 2000.0, 5000.0, 10000.0, 20000.0, 50000.0, 100000.0};

std::size_t reason_of(Finish finish) {
    switch (finish) {
        case Finish::Length:
            return 1;
        case Finish::Cancelled:
            return 2;
        case Finish::Failed:
            return 3;
        case Finish::Context:
            return 4;
        default:
            return 0;
    }
}

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

void write_engine(MetricWriter& to, const EngineCounters& engine) {
    const SchedulerCounters& now = engine.scheduler;
    to.gauge("vllm:num_requests_running", "Requests that the model is working on.", now.running);
    to.gauge("vllm:num_requests_waiting", "Requests that wait for room.", now.waiting);
    const double used = ratio(now.pages_in_use, now.pages);
    to.gauge("vllm:kv_cache_usage_perc", "Share of the KV cache's pages in use; 1 is all.", used);
    to.gauge("vllm:gpu_cache_usage_perc", "The same under its older name.", used);
    to.gauge("voltpile:host_cache_usage", "Share of the pages for idle conversations in host memory in use.",
             ratio(now.host_pages_in_use, now.host_pages));
    to.counter("voltpile:pages_brought_back_total", "Pages of the KV cache copied back from host memory.",
               static_cast<double>(now.pages_brought_back));
    to.counter("vllm:num_preemptions_total", "Sequences that lost their pages and were computed again.",
               static_cast<double>(now.preemptions));
    to.counter("vllm:prompt_tokens_total", "Tokens of prompts.", static_cast<double>(engine.tokens_in));
    to.counter("vllm:generation_tokens_total", "Tokens generated.", static_cast<double>(engine.tokens_out));
    to.counter("voltpile:passes_total", "Passes through the model.", static_cast<double>(engine.passes));
    to.counter("voltpile:pass_sequences_total", "Sequences, summed over all passes.",
               static_cast<double>(engine.sequences));
    to.counter("voltpile:steps_total", "Passes that drew tokens for a sequence, summed over sequences.",
               static_cast<double>(engine.steps));
    to.counter("vllm:spec_decode_num_draft_tokens_total", "Tokens guessed ahead.",
               static_cast<double>(engine.drafted_tokens));
    to.counter("vllm:spec_decode_num_accepted_tokens_total",
               "Tokens guessed ahead that were right: each saved a pass for its sequence.",
               static_cast<double>(engine.right_tokens));
    to.gauge("voltpile:batch_sequences", "Sequences that generate at the moment.", now.generating);
    to.counter("voltpile:busy_seconds_total", "Time in which replicas had work, summed over them.",
               engine.busy_seconds);
}

// Under names of their own, because whoever adds up the series of a name must not count a request twice.
void write_replicas(MetricWriter& to, std::span<const ReplicaState> replicas) {
    const auto write = [&](std::string_view name, std::string_view type, std::string_view help,
                           auto&& value) {
        to.head(name, type, help);
        for (std::size_t i = 0; i < replicas.size(); ++i)
            to.line(name, fmt::format(",replica=\"{}\"", i), static_cast<double>(value(replicas[i])));
    };
    write("voltpile:replica_up", "gauge", "1 if the replica works, 0 once it has failed.",
          [](const ReplicaState& each) { return each.works ? 1 : 0; });
    write("voltpile:replica_requests_running", "gauge", "Requests that the replica is working on.",
          [](const ReplicaState& each) { return each.counters.scheduler.running; });
    write("voltpile:replica_requests_waiting", "gauge", "Requests that wait for room in the replica.",
          [](const ReplicaState& each) { return each.counters.scheduler.waiting; });
    write("voltpile:replica_kv_cache_usage", "gauge",
          "Share of the pages of the replica's KV cache in use; 1 is all.", [](const ReplicaState& each) {
              return ratio(each.counters.scheduler.pages_in_use, each.counters.scheduler.pages);
          });
    write("voltpile:replica_prompt_tokens_total", "counter", "Tokens of prompts that the replica has read.",
          [](const ReplicaState& each) { return each.counters.tokens_in; });
    write("voltpile:replica_cached_tokens_total", "counter",
          "Tokens of prompts that the replica found in its KV cache.",
          [](const ReplicaState& each) { return each.counters.scheduler.shared_tokens; });
    write("voltpile:replica_generation_tokens_total", "counter", "Tokens that the replica has generated.",
          [](const ReplicaState& each) { return each.counters.tokens_out; });
}

void write_server(MetricWriter& to, const http::ServerCounters& server) {
    const auto value = [](const std::atomic<std::int64_t>& counter) {
        return static_cast<double>(counter.load());
    };
    to.gauge("voltpile:http_connections", "Open connections.", value(server.connections));
    to.counter("voltpile:http_connections_total", "Connections accepted.", value(server.accepted));
    to.counter("voltpile:http_connections_refused_total", "Connections beyond the limit.",
               value(server.over_limit));
    to.counter("voltpile:http_requests_refused_total",
               "Requests that are not HTTP as it should be, or for no known path.", value(server.refused));
    to.counter("voltpile:http_slow_clients_total", "Clients dropped because they read too slowly.",
               value(server.slow_clients));
}

}  // namespace

ServeMetrics::ServeMetrics(const std::string& model)
    : labels_("model_name=" + json_text(model)),
      first_token_(first_token_bounds),
      between_tokens_(between_bounds),
      whole_(request_bounds),
      queued_(request_bounds),
      prompt_time_(request_bounds),
      generation_time_(request_bounds),
      prompt_tokens_(token_bounds),
      generated_tokens_(token_bounds) {}

void ServeMetrics::observe(const Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    ++ended_[reason_of(outcome.finish)];
    if (outcome.token_seconds.empty()) return;
    const std::vector<double>& at = outcome.token_seconds;
    first_token_.observe(at.front());
    for (std::size_t i = 1; i < at.size(); ++i) between_tokens_.observe(at[i] - at[i - 1]);
    whole_.observe(at.back());
    queued_.observe(outcome.queue_seconds);
    prompt_time_.observe(outcome.prompt_seconds);
    generation_time_.observe(outcome.generation_seconds);
    prompt_tokens_.observe(outcome.prompt_tokens);
    generated_tokens_.observe(static_cast<double>(outcome.tokens.size()));
    queried_tokens_ += outcome.prompt_tokens;
    cached_tokens_ += outcome.cached_tokens;
}

std::string ServeMetrics::text(std::span<const ReplicaState> replicas,
                               const http::ServerCounters& server) const {
    std::string out;
    MetricWriter to(out, labels_);
    write_engine(to, sum_of(replicas));
    write_replicas(to, replicas);
    write_server(to, server);
    const std::lock_guard lock(mutex_);
    to.counter("vllm:prefix_cache_queries_total", "Tokens of prompts looked up in the KV cache.",
               static_cast<double>(queried_tokens_));
    to.counter("vllm:prefix_cache_hits_total", "Tokens of prompts found in the KV cache.",
               static_cast<double>(cached_tokens_));
    to.head("vllm:request_success_total", "counter", "Requests that have ended, by reason.");
    for (std::size_t i = 0; i < kReasons.size(); ++i)
        to.line("vllm:request_success_total", fmt::format(",finished_reason=\"{}\"", kReasons[i]),
                static_cast<double>(ended_[i]));
    first_token_.write(out, "vllm:time_to_first_token_seconds", "From arrival to the first token.", labels_);
    between_tokens_.write(out, "vllm:inter_token_latency_seconds", "Between two tokens of a sequence.",
                          labels_);
    whole_.write(out, "vllm:e2e_request_latency_seconds", "From arrival to the last token.", labels_);
    queued_.write(out, "vllm:request_queue_time_seconds", "From arrival to admission.", labels_);
    prompt_time_.write(out, "vllm:request_prefill_time_seconds", "From admission to the first token.",
                       labels_);
    generation_time_.write(out, "vllm:request_decode_time_seconds", "From the first token to the last.",
                           labels_);
    prompt_tokens_.write(out, "vllm:request_prompt_tokens", "Tokens of a prompt.", labels_);
    generated_tokens_.write(out, "vllm:request_generation_tokens", "Tokens generated for a request.",
                            labels_);
    return out;
}

}  // namespace voltpile::llm
