// One copy of a model spread over the ranks of a team (tensor-parallel groups as pipeline stages): on each
// rank the operations of its GPU or its cores, its part of the decoder, and its links.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/mpi/session.h"
#include "llm/decoder/pass_runner.h"
#include "llm/decoder/timed_links.h"
#include "llm/replica/draw_forwarder.h"
#include "llm/replica/replica_plan.h"
#include "llm/replica/team_links.h"
#include "run/team_context.h"

namespace voltpile::llm {

// Collective over the world: the plan for its ranks. Throws AgreedError for ranks that see different models,
// and for what plan_replica() refuses.
ReplicaPlan agreed_plan(const MpiSession& session, const ModelSource& model, const ReplicaRequest& request);

class Replica {
  public:
    // Collective over the world: all ranks come, with the same model and plan, and destroy. The model
    // outlives it. Throws AgreedError.
    Replica(const MpiSession& session, const ModelSource& model, ReplicaPlan plan);
    ~Replica();

    // In no team: nothing of the following is to be had.
    bool idle() const { return teams_->idle(); }
    // The team's first rank in the order of the world (rank 0, unless that has no GPU where others have): the
    // one that prints.
    bool leads() const { return teams_->team().rank() == 0; }

    const ReplicaRequest& request() const { return plan_.request; }
    const ReplicaPlan& plan() const { return plan_; }
    const TeamContext& teams() const { return *teams_; }
    TimedOps& ops() { return *timed_ops_; }
    const Stream* stream() const { return stream_; }  // of ops; nullptr: they work on the host
    Decoder& decoder() { return *decoder_; }
    double load_seconds() const { return load_s_; }  // of the weights
    std::uint64_t loaded_bytes() const { return loaded_bytes_; }
    // In use of the GPU's memory when the ranks were connected and nothing was loaded, and after loading; 0
    // without a GPU.
    std::int64_t gpu_bytes_before() const { return gpu_bytes_before_; }
    std::int64_t gpu_bytes_loaded() const { return gpu_bytes_loaded_; }
    std::string describe() const;  // "AVX2, 4 threads; TP2 x PP2; int8 cache"

    // Collective over the team: one pass. On the last stage the logits (on every rank of it, in the Ops'
    // memory until the next pass), elsewhere nothing.
    FloatRows forward(const Batch& batch);

    // Collective over the team: one pass, waited for. The logits (batch.logit_row.size(), vocabulary) on the
    // host of one rank of the last stage, valid until the next call; nothing on the others. Nothing either
    // where a sum was not finite: ranks of earlier stages have not met it, and go on until they are told.
    std::span<const float> host_logits(const Batch& batch);
    // What was not finite first in these passes on this rank; empty: all was.
    const std::string& not_finite() const { return not_finite_; }

    // ---- With tokens drawn, several under way at once; for ReplicaPasses. Not mixed with the above.

    // Collective over the team, in the same order: begins a pass, and the draw of a token for each row of
    // logits. As PassRunner::enqueue; at most PassRunner::most_under_way that have not been collected.
    void enqueue(const Batch& batch, std::span<const SamplingRow> sampling);

    // On the leader: waits for the oldest pass that has not been collected, and has its tokens. Throws
    // CommError if a peer is lost.
    Draws collect();

  private:
    void load(const ModelSource& model);
    void watch(const std::stop_token& stop, int device) const;

    const MpiSession& session_;
    ReplicaPlan plan_;
    std::unique_ptr<TeamContext> teams_;
    std::unique_ptr<Ops> ops_;
    const Stream* stream_ = nullptr;
    std::unique_ptr<TeamLinks> links_;
    std::unique_ptr<TimedOps> timed_ops_;
    std::unique_ptr<TimedLinks> timed_links_;
    double load_s_ = 0;
    std::uint64_t loaded_bytes_ = 0;
    std::int64_t gpu_bytes_before_ = 0;
    std::int64_t gpu_bytes_loaded_ = 0;
    std::unique_ptr<Decoder> decoder_;
    std::unique_ptr<PassRunner> runner_;
    struct Awaited {  // from the last stage
        std::vector<std::byte> message;
        std::size_t draws = 0;
        int top_n = 0;
        Transfer arrived;
    };
    std::deque<Awaited> awaited_;               // the leader of a pipeline
    std::deque<DrawsUnderWay> under_way_;       // the leader of a single stage
    std::unique_ptr<DrawForwarder> forwarder_;  // the first rank of the last of several stages
    std::vector<float> host_logits_;
    std::string not_finite_;
    std::jthread watchdog_;  // of work on the GPU that waits for a peer
};

// Collective over the world: makes the replica and has `body` use it on every rank of its team; the others
// do what there is `meanwhile` and wait, asleep. Rank 0 prints the plan's warnings. Throws AgreedError. An
// error that a rank meets alone is printed here and ends all ranks (MpiSession::abort): what a replica has
// shared with others cannot be put away alone.
void with_replica(const MpiSession& session, const ModelSource& model, ReplicaPlan plan,
                  const std::function<void(Replica&)>& body, const std::function<void()>& meanwhile = {});

}  // namespace voltpile::llm
