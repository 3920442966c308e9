// Every tag of the program's MPI messages. Messages meet only within one communicator, so the tables of
// different communicators may use the same numbers.
#pragma once

namespace voltpile {

// ---- The world: a job (src/run) ----
inline constexpr int kReportTag = 1;   // rank -> 0: RankReport (work/dispatch.h)
inline constexpr int kGrantTag = 2;    // 0 -> rank: RankGrant; the last one may arrive after the job loop
inline constexpr int kFailureTag = 3;  // rank -> 0: exit code, host, '\n', message of a rank that failed
inline constexpr int kOutcomeTag = 4;  // 0 -> rank: a mark, then the range of a part to send or the exit code
inline constexpr int kPartTag = 5;     // rank -> 0: a mark, then the bytes of that part or why it has none

// ---- The world: `voltpile chat` with its first rank on another host (apps/cli/far_terminal) ----
inline constexpr int kTerminalRequestTag = 1;  // leader -> 0: a mark, then text to print
inline constexpr int kTerminalReplyTag = 2;    // 0 -> leader: a mark, then the line that was typed

// ---- The world: measuring links (comm/mpi/measure_links) ----
inline constexpr int kLinkOrderTag = 11;   // 0 -> rank: Order: what to measure, with whom
inline constexpr int kLinkResultTag = 12;  // rank -> 0: Result
inline constexpr int kLinkDataTag = 13;    // pair, both ways: the bytes that are measured
inline constexpr int kLinkHeaderTag = 14;  // pair, to the receiver: int, length of the next messages; 0: end
inline constexpr int kLinkReplyTag = 15;   // pair, to the sender: int or double, once all have arrived

// ---- The world: comparing clocks (health/clocks) ----
inline constexpr int kClockTag = 21;  // 0 -> rank: "?", or empty at the end; rank -> 0: its time in seconds

// ---- A team: the passes of a replica (apps/llm/replica/replica_passes) ----
inline constexpr int kPassTag = 1;       // leader -> rank: a mark, then a pass (pass_message.h)
inline constexpr int kNotFiniteTag = 2;  // rank -> leader: where a sum was first not finite; empty: nowhere
inline constexpr int kReplicaFailureTag = 3;  // rank -> leader: exit code, then why it failed

// ---- The leaders of a model and of its draft model on ranks of its own (apps/llm/replica/draft_link) ----
inline constexpr int kDraftPassTag = 1;    // model -> draft: an order, then a pass or its draws
inline constexpr int kDraftTokensTag = 2;  // draft -> model: the tokens of a pass

// ---- Rank 0 and the leaders of replicas: requests and answers (apps/llm/session/shared_queue) ----
inline constexpr int kQueueOrderTag = 1;   // 0 -> leader: QueueOrder
inline constexpr int kQueueReportTag = 2;  // leader -> 0: QueueReport

// ---- The ranks of a job with instances of a program (apps/command/instance_run) ----
inline constexpr int kInstanceOrderTag = 1;   // 0 -> rank: InstanceRun::Order
inline constexpr int kInstanceRecordTag = 2;  // rank -> 0: RunRecord; empty: its run was stopped
inline constexpr int kInstanceEndTag = 3;     // 0 -> rank, once: end the instance if it still runs

// ---- The watchdogs of all ranks (src/run/watch_links) ----
inline constexpr int kLifeTag = 1;  // 0 <-> rank, each second: WatchSign

// ---- Rank 0 and a rank of each host with a disk of its own (src/run/telemetry_link) ----
inline constexpr int kTelemetryTag = 1;  // rank -> 0: samples of its host, as CSV

// ---- Rank 0 and a rank of each host with GPUs: their state (apps/llm/serve/gpu_reports) ----
inline constexpr int kGpuOrderTag = 1;   // 0 -> reader: "read" or "end"
inline constexpr int kGpuReportTag = 2;  // reader -> 0: a GpuState for each rank's GPU of its host

// ---- The communicator of a HostCommunicator ----
inline constexpr int kCollectiveTag = 1;    // any pair: a part of a collective's data
inline constexpr int kPointToPointTag = 2;  // any pair: the data of send() and receive()

// ---- The pair of a benchmark (comm/channel/pair_bench) ----
inline constexpr int kPairTag = 1;  // both ways: the bytes that are measured

}  // namespace voltpile
