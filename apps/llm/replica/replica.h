// One copy of a model spread over the ranks of a team, whose pipeline stages are tensor-parallel groups. Each
// rank has the operations of its GPU or its cores, its part of the decoder, and its links to other ranks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/mpi/session.h"
#include "device/stream_order.h"
#include "llm/decoder/pass_runner.h"
#include "llm/decoder/timed_links.h"
#include "llm/replica/draw_forwarder.h"
#include "llm/replica/pass_rests.h"
#include "llm/replica/replica_plan.h"
#include "llm/replica/team_links.h"
#include "run/team_context.h"

namespace voltpile::llm {

// Plans a replica over all ranks of the world. Collective. Throws AgreedError if the ranks see different
// models, and for what plan_replica() refuses.
ReplicaPlan agreed_plan(const MpiSession& session, const ModelSource& model, const ReplicaRequest& request);

class Replica {
  public:
    // Connects the ranks and loads the model, and its draft model if it has one. Construction and destruction
    // are collective over the world: all ranks take part, with the same model and plan. The model must
    // outlive the replica. Throws AgreedError.
    // model_of_prediction: with a prediction layer or an EAGLE 3 head as the model, the replica of the model
    // that it predicts for, which must outlive this one.
    Replica(const MpiSession& session, const ModelSource& model, ReplicaPlan plan,
            const Replica* model_of_prediction = nullptr);
    ~Replica();

    // Whether this rank is in no team. Idle ranks must not call the methods below.
    bool idle() const { return teams_->idle(); }
    // Whether this rank has the draft model alone (ReplicaRequest::draft_ranks): see run_draft(). It is idle,
    // too.
    bool helps() const;
    // Whether this rank's stage has layers. The stages of prediction layers but the last have none: their
    // ranks take part in enqueue() and collect(), and must not call the other methods that run passes.
    bool has_layers() const { return decoder_ != nullptr; }
    // Whether this is the team's first rank in the order of the world: rank 0, unless it has no GPU and
    // others have. The leader plans passes and prints.
    bool leads() const { return teams_->team().rank() == 0; }
    int world_rank() const { return session_.world().rank(); }

    const ReplicaRequest& request() const { return plan_.request; }
    const ReplicaPlan& plan() const { return plan_; }
    const TeamContext& teams() const { return *teams_; }
    TimedOps& ops() { return *timed_ops_; }
    // Of plan().draft; nullptr without one. Also on ranks that are idle in it.
    Replica* draft() const { return draft_.get(); }
    // The leaders of the model, 0, and of its draft model on ranks of its own, 1; nullptr on all other ranks.
    const Communicator* draft_link() const { return draft_link_ ? &*draft_link_ : nullptr; }
    // Of ops(); nullptr if they work on the host or the stage has no layers.
    const Stream* stream() const { return stream_; }
    Decoder& decoder() { return *decoder_; }
    double load_seconds() const { return load_s_; }  // for the weights
    std::uint64_t loaded_bytes() const { return loaded_bytes_; }
    // Bytes in use on the GPU after connecting the ranks and before loading, and after loading; 0 without a
    // GPU.
    std::int64_t gpu_bytes_before() const { return gpu_bytes_before_; }
    std::int64_t gpu_bytes_loaded() const { return gpu_bytes_loaded_; }
    std::string describe() const;  // "AVX2, 4 threads; TP2 x PP2; int8 cache"

    // Runs one pass. Collective over the team. Returns the logits on every rank of the last stage, in the
    // memory of ops(), valid until the next pass; empty on other stages.
    FloatRows forward(const Batch& batch);

    // Runs one pass and waits for it. Collective over the team. Returns the logits, (batch.logit_row.size(),
    // vocabulary), in host memory of one rank of the last stage, valid until the next call; empty on other
    // ranks. Also returns nothing after a sum was not finite: ranks of earlier stages do not notice that and
    // keep taking part.
    std::span<const float> host_logits(const Batch& batch);
    // Names the first sum in these passes that was not finite on this rank; empty if there was none.
    const std::string& not_finite() const { return not_finite_; }

    // Cancels what the ranks of the team do with each other, here and, as they find out, on the others. The
    // replica is of no use afterwards.
    void call_off(const std::string& why) noexcept {
        if (draft_) draft_->call_off(why);
        teams_->abort(why);
    }

    // Gives the communicators to the thread that calls next, as TeamContext::hand_over() does.
    void hand_over() const {
        if (draft_) draft_->hand_over();
        if (draft_link_) draft_link_->hand_over();
        teams_->hand_over();
    }

    // Makes the next pass begin after all passes that `other` has enqueued on the same GPU. On the host they
    // have run already.
    void begin_after(const Replica& other);

    // The methods below run passes that draw tokens, several in flight at once. ReplicaPasses uses them; do
    // not mix them with forward() and host_logits().

    // Starts a pass and the draw of a token for each row of logits, as PassRunner::enqueue() does. Collective
    // over the team, in the same order on all ranks. At most PassRunner::most_under_way passes may be
    // enqueued and not yet collected.
    void enqueue(const Batch& batch, std::span<const SamplingRow> sampling);

    // The same in two steps, as PassRunner does it. Only if there is one stage.
    void enqueue_logits(const Batch& batch);
    void draw(std::span<const SamplingRow> sampling);

    // Waits for the oldest pass not yet collected and returns its tokens. On the leader only. Throws
    // CommError if a peer is lost.
    Draws collect();

  private:
    const StageNeeds& stage() const { return plan_.stages[static_cast<std::size_t>(teams_->place().stage)]; }
    std::unique_ptr<PeerArea> share_area(const ModelConfig& config);
    void load(const ModelSource& model, const Replica* model_of_prediction);
    void link_leaders();
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
    std::unique_ptr<Decoder> decoder_;  // null on a stage without layers, as all that it works with
    std::unique_ptr<PassRests> rests_;  // null: the GPU works all the time
    std::unique_ptr<PassRunner> runner_;
    struct Awaited {  // draws on their way from the last stage
        std::vector<std::byte> message;
        std::size_t draws = 0;
        int top_n = 0;
        Transfer arrived;
    };
    std::deque<Awaited> awaited_;               // on the leader, if there are several stages
    std::deque<DrawsUnderWay> under_way_;       // on the leader, if there is one stage
    std::unique_ptr<DrawForwarder> forwarder_;  // on the first rank of the last stage, if there are several
    std::vector<float> host_logits_;
    std::string not_finite_;
    std::unique_ptr<StreamOrder> order_;  // created at the first begin_after()
    std::jthread watchdog_;               // frees work on the GPU that waits for a lost peer
    std::optional<Communicator> draft_link_;
    std::unique_ptr<Replica> draft_;  // last, so that it ends first
};

// Creates a replica and calls `body` on every rank of its team; idle ranks call `meanwhile` and then sleep
// until the others are done. Collective over the world. Rank 0 prints the plan's warnings. Throws
// AgreedError. An error on a single rank is printed here and ends all ranks (MpiSession::abort), because one
// rank cannot take down the replica's connections alone.
void with_replica(const MpiSession& session, const ModelSource& model, ReplicaPlan plan,
                  const std::function<void(Replica&)>& body, const std::function<void()>& meanwhile = {});

}  // namespace voltpile::llm
