// Answers requests that arrive at rank 0 on all replicas of a run: what a server runs on.
#pragma once

#include <functional>

#include "job/watchdog_keys.h"
#include "llm/session/session.h"
#include "llm/session/shared_queue.h"

namespace voltpile::llm {

// Creates the replicas that were planned and calls `serve` on rank 0, on a thread of its own, when all are
// ready. When it returns, closes the queue and returns once all requests have ended. Collective over the
// world. An error that `serve` throws ends all ranks in order (AgreedError).
//
// If a pass of a replica fails, its requests end with Finish::Failed and the other replicas go on
// (SharedQueue). `serve` should return soon after SharedQueue::no_replica_left(). The ranks of a failed
// replica cannot leave in order, so this then does not return: it ends all ranks with MPI_Abort, with
// ExitCode::Stopped, or with the error that `serve` throws. A rank that hangs, as the watchdog finds with
// these deadlines, fails its replica in the same way.
void serve_replicas(const MpiSession& mpi, const LanguageModel& model, ReplicaPlan plan,
                    const WatchdogDeadlines& deadlines, const std::function<void(SharedQueue&)>& serve);

}  // namespace voltpile::llm
