// How the layers of a model are cut into stages for a replica, and whether the ranks have room for them.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

// All ranks in teams have a GPU, or none has.
WeightLayout layout_of(const Plan& plan);

// Returns the ranks of one replica.
inline int ranks_of(const ReplicaPlan& plan) {
    return plan.plan.teams.tensor * plan.plan.teams.pipeline;
}

// Returns the bytes that connections between GPUs take on each.
std::uint64_t connection_bytes(const Plan& plan);

class ReplicaRoom {
  public:
    // candidates: the processors of all ranks. All arguments must outlive this object.
    ReplicaRoom(const ModelSource& model, const ReplicaRequest& request,
                const std::vector<TeamCandidate>& candidates)
        : model_(model), request_(request), candidates_(candidates) {}

    // Cuts the layers by the room that the ranks have. plan: with teams, request.rows, rows_to_cut and
    // experts_on_host; gets working, host_working and stages.
    void cut(ReplicaPlan& plan) const;
    // Sets only plan.working and plan.host_working.
    void set_working(ReplicaPlan& plan) const;

    // Returns the stages of ranks with this much room, in bytes, in groups of `tensor`.
    std::vector<StageNeeds> stages_of(WeightLayout layout, int tensor, const std::vector<double>& room,
                                      int experts_on_host, bool whole_layers) const;

    // The bytes that ranks without room have: shares of the layers need a positive number.
    static constexpr double none = 1;

    // Returns the bytes for weights and cache that a rank of each stage has: the smallest in all replicas.
    std::vector<double> capacities(const ReplicaPlan& plan) const;
    // Returns the bytes that the other model takes from them.
    double taken(std::size_t stage) const {
        return request_.taken.empty() ? 0 : static_cast<double>(request_.taken.at(stage));
    }

    // Returns the fewest tokens that the cache must hold.
    std::uint64_t tokens() const {
        return static_cast<std::uint64_t>(request_.least_pages()) * kv_page_tokens;
    }
    // Returns the bytes of weights and of that cache.
    double need(const StageNeeds& stage) const {
        return static_cast<double>(stage.all_weights() + stage.kv_per_token * tokens());
    }
    bool fits(const std::vector<StageNeeds>& stages, const std::vector<double>& room) const;
    bool fits_gpus(const ReplicaPlan& plan) const;
    bool fits(const ReplicaPlan& plan) const;

    // Gives copies of weights the memory that the rest of the plan leaves on GPUs that have use for them.
    // Call it last.
    void keep_integers(ReplicaPlan& plan) const;

    // Returns how many tokens have room in all stages, at most `wanted`.
    std::uint64_t most_tokens(const ReplicaPlan& plan, std::uint64_t wanted) const;

    const TeamCandidate& candidate(int rank) const { return candidates_[static_cast<std::size_t>(rank)]; }

  private:
    // Prediction layers and an EAGLE 3 head are on the last stage, beside the inputs of the model's head.
    std::vector<StageNeeds> stages_of_prediction(WeightLayout layout, int tensor,
                                                 const std::vector<double>& room) const;
    // Returns the bytes that a rank has for weights and cache: on its GPU, or its share of the host's memory.
    double room_of(const ReplicaPlan& replica, int rank) const;

    const ModelSource& model_;
    const ReplicaRequest& request_;
    const std::vector<TeamCandidate>& candidates_;
};

}  // namespace voltpile::llm
