// What /metrics shows, in Prometheus' text format. Names that begin with "vllm:" mean what they mean in vLLM,
// so that its Grafana dashboards work; "voltpile:" are our own.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "http/server.h"
#include "llm/engine/request.h"
#include "llm/serve/histogram.h"
#include "llm/session/replica_state.h"

namespace voltpile::llm {

// Thread-safe.
class ServeMetrics {
  public:
    // model: its name, a label of all metrics.
    explicit ServeMetrics(const std::string& model);

    const std::string& labels() const { return labels_; }  // of all metrics, without braces

    // Counts a request that has ended.
    void observe(const Outcome& outcome);

    // replicas, server: their counters now.
    std::string text(std::span<const ReplicaState> replicas, const http::ServerCounters& server) const;

  private:
    std::string labels_;
    mutable std::mutex mutex_;
    std::array<std::int64_t, 5> ended_{};  // by reason, see kReasons
    Histogram first_token_, between_tokens_, whole_, queued_, prompt_time_, generation_time_;
    Histogram prompt_tokens_, generated_tokens_;
    std::int64_t queried_tokens_ = 0, cached_tokens_ = 0;  // of prompts
};

}  // namespace voltpile::llm
