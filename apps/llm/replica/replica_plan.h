// Plans over which ranks a model is spread, before anything is loaded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "llm/decoder/batch_buffer.h"
#include "llm/model/model_memory.h"
#include "llm/replica/speculate.h"
#include "plan/plan.h"

namespace voltpile {
class GpuDuty;
}

namespace voltpile::llm {

struct ReplicaRequest {
    int tensor = 0;    // ranks of a tensor-parallel group; 0: as many as there are and the model allows
    int pipeline = 0;  // pipeline stages; 0: as few as hold the model
    int replicas = 1;  // copies of the model; 0: as many as there is room for
    DeviceChoice device = DeviceChoice::Auto;
    int threads = 0;                // of a rank that computes on cores; 0: one for each core of its share
    int ranks_per_node = 0;         // treat a host as several nodes of this many ranks; 0: as one node
    int context = 0;                // tokens in each sequence
    int sequences = 1;              // the most at once
    double prompt_tokens = 0;       // of a prompt, in the mean; for the estimate of time
    std::int64_t cache_tokens = 0;  // tokens of all sequences together; 0: no limit
    // Layers whose experts stay in host memory on ranks with GPUs, see first_layer_on_host(); -1: as few as
    // let the model fit.
    int experts_on_host = -1;
    int host_cache_tokens = 0;  // of idle conversations, in host memory of each replica; 0: none
    bool shrinks = false;       // if memory is short, make the cache smaller, down to one sequence's context
    int rows = 0;               // the most tokens in a pass, at least `sequences`; 0: the plan chooses
    int logits = 1;             // the most rows of a pass that need logits
    KvElement cache = KvElement::F16;
    // The ranks of a tensor-parallel group cut long prompts by their tokens, see ReplicaPlan::rows_to_cut.
    bool context_parallel = false;
    bool batch_invariant = false;  // on GPUs: a sequence does not depend on what else is in the batch
    bool copies = true;            // of weights, in GPU memory that nothing else needs, see integer_copies.h
    bool clamp = false;            // clamp activations to the range of fp16, see ops.h

    Speculate speculate = Speculate::Off;
    // What guesses for Speculate::Draft: a model, for Speculate::Mtp: ModelSource::prediction_layers(), for
    // Speculate::Eagle: ModelFiles::eagle_head(). Outlives the replica.
    const ModelSource* draft = nullptr;
    std::vector<int> read_layers;  // for Speculate::Eagle: EagleHead::layers
    // The last stage has the embedding too, for prediction layers without one of their own and EAGLE 3 heads.
    bool embeds_last = false;
    int draft_tokens = 8;  // the most tokens guessed ahead for a sequence, if it speculates
    int draft_ranks = 0;   // the last ranks of the world, which hold the draft model alone; 0: it is beside
                           // the model

    // The ranks that may hold the model: first_rank to end_rank - 1; an end of 0: to the last one.
    int first_rank = 0, end_rank = 0;
    bool may_use(int rank) const { return rank >= first_rank && (end_rank == 0 || rank < end_rank); }

    // Bytes of each stage's room on a rank that another model takes. Empty, or one entry for each of
    // `pipeline` stages.
    std::vector<std::uint64_t> taken;
    // Bytes of each host's memory that another model takes on ranks of its own. Empty, or one entry for each
    // host.
    std::vector<std::uint64_t> taken_of_hosts;
    std::uint64_t taken_of_host(int host) const {
        return taken_of_hosts.empty() ? 0 : taken_of_hosts.at(static_cast<std::size_t>(host));
    }

    int pages_per_sequence() const { return pages_for(context); }
    // Pages of the KV cache if there is room for everything: `context` tokens for each sequence, or
    // cache_tokens for all together if that is less.
    int pages() const {
        const int all = sequences * pages_per_sequence();
        if (cache_tokens == 0) return all;
        return static_cast<int>(std::min<std::int64_t>(pages_for(cache_tokens), all));
    }
    int least_pages() const { return shrinks ? std::min(pages(), pages_per_sequence()) : pages(); }
    // Rows of a pass for guesses: those of a few sequences at once. With more rows, guesses do not pay.
    int guess_rows() const {
        constexpr int few = 8;
        return speculate == Speculate::Off ? 0 : draft_tokens * std::min(sequences, few);
    }
    // Rows of a pass of the model that guesses. It reads prompts in passes of a few hundred rows at most, so
    // that guesses for other sequences need not wait.
    int draft_rows() const {
        constexpr int most = 512;
        return std::max(most, sequences + guess_rows());
    }
    // The same of prediction layers or an EAGLE 3 head; 0: there is neither.
    int prediction_rows() const { return reads_hidden_states(speculate) ? draft_rows() : 0; }
    // Passes over a few rows are recorded as if each row were a sequence.
    BatchLimits limits() const {
        return {rows, sequences + guess_rows(), pages_per_sequence(), logits + guess_rows()};
    }
};

struct ReplicaPlan {
    ReplicaRequest request;          // with the rows that were chosen
    int pages = 0;                   // of the KV cache
    int host_pages = 0;              // in host memory
    int experts_on_host = 0;         // layers whose experts stay in host memory; 0 on cores
    Plan plan;                       // with teams; its warnings name the idle ranks in no team
    std::vector<StageNeeds> stages;  // the layers of each stage, the same in all teams
    // Bytes of memory that a rank of each stage needs: weights, cache, activations and connections, without
    // the program itself.
    std::vector<std::uint64_t> takes;
    // For passes of at least this many rows, the experts in host memory are copied to the GPUs, layer by
    // layer; 0: never.
    int streamed_rows = 0;
    // Passes of at least this many rows are cut by rows (WholeLayers), for which each rank keeps the whole
    // layers of its stage; 0: none.
    int rows_to_cut = 0;
    std::uint64_t host_working = 0;  // bytes of host memory that passes of experts there need on each rank
    std::uint64_t working = 0;       // bytes that passes need on each rank: activations and scratch space
    int pass_rows = 0;               // the fixed cost of a pass with prompts, as their rows; 0: unknown
    const GpuDuty* duty = nullptr;   // how much the GPUs may work; nullptr: all the time
    // Of request.draft, with the same teams or on ranks of its own; nullptr without one.
    std::shared_ptr<const ReplicaPlan> draft;

    // Returns the bytes that the fullest rank of a stage keeps: weights and copies of them, the cache with
    // all pages, and the room for experts that are copied to the GPU.
    std::uint64_t kept_bytes(const StageNeeds& stage) const {
        return stage.all_weights() + stage.kv_per_token * static_cast<std::uint64_t>(pages) * kv_page_tokens +
               streamed_bytes(stage) + stage.integers;
    }
    std::uint64_t streamed_bytes(const StageNeeds& stage) const {
        return streamed_rows > 0 ? stage.largest_host_layer : 0;
    }
};

// Plans a replica, and that of its draft model if it has one. work: the job's workload, for the plan's
// estimates. Throws JobError for a cut that the model does not allow, and MachineError if there are too few
// ranks for the cut or the model does not fit; both messages say what would work.
ReplicaPlan plan_replica(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                         const Workload& work = {});

}  // namespace voltpile::llm
