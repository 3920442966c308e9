// Messages between rank 0, which takes requests, and the leaders of the other replicas, which answer them.
//
// All ranks run the same program (check_same_build), so messages use the program's own memory layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/engine/request_queue.h"

namespace voltpile::llm {

// What rank 0 tells a leader.
struct QueueOrder {
    enum class Kind : std::uint8_t { Submit, Cancel, Close };
    Kind kind = Kind::Close;
    Request request;  // of Submit; its id alone of Cancel
};

// What a leader reports of a request: a delta, or its outcome if it has ended.
struct QueueEvent {
    std::int64_t id = 0;
    std::string text;
    std::vector<std::int32_t> tokens;
    std::vector<float> log_probability;
    std::vector<TopTokens> top;
    std::optional<Outcome> outcome;
};

// Why a replica cannot be used any more: the exit code of a program that has no other, and the reason with
// the rank that failed.
struct ReplicaFailure {
    ExitCode exit_code = ExitCode::Failed;
    std::string why;
};

struct QueueReport {
    std::vector<QueueEvent> events;  // in their order
    EngineCounters counters;
    bool last = false;     // the leader has answered everything and is closed
    bool failing = false;  // the engine has failed; the reason follows as `failure` in the last report
    std::optional<ReplicaFailure> failure;
};

std::string to_bytes(const QueueOrder& order);
std::string to_bytes(const QueueReport& report);

// Throw CommError if the bytes are no such message.
QueueOrder order_from_bytes(const std::string& bytes);
QueueReport report_from_bytes(const std::string& bytes);

}  // namespace voltpile::llm
