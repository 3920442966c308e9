// Over which ranks a model is spread, decided before anything is loaded. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "llm/decoder/batch_buffer.h"
#include "llm/model/model_memory.h"
#include "plan/plan.h"

namespace voltpile::llm {

struct ReplicaRequest {
    int tensor = 0;    // ranks of a tensor-parallel group; 0: as many as there are and the model allows
    int pipeline = 0;  // stages; 0: as few as hold the model
    int replicas = 1;  // copies of the model; 0: as many as there is room for
    DeviceChoice device = DeviceChoice::Auto;
    int ranks_per_node = 0;         // a host counts as several nodes of so many ranks; 0: as one
    int context = 0;                // tokens that each sequence has room for
    int sequences = 1;              // at once
    std::int64_t cache_tokens = 0;  // of all sequences together; 0: no limit of its own
    bool shrinks = false;  // the cache may be smaller where memory is short, down to one sequence's context
    int rows = 256;        // the most tokens of a pass
    int logits = 1;        // the most rows of a pass whose logits are wanted
    KvElement cache = KvElement::F16;
    bool batch_invariant = false;  // on GPUs: a text does not depend on what else is in the batch
    bool clamp = false;            // activations that overflow fp16 become its largest number, see ops.h

    // Of the room of a rank of each stage, what another model has taken. Empty: nothing; else of as many
    // stages as are asked for.
    std::vector<std::uint64_t> taken;

    int pages_per_sequence() const { return pages_for(context); }
    // Of the cache, if all that is asked for has room: for `context` tokens of each sequence, or for
    // cache_tokens of all together if that is less.
    int pages() const;
    int least_pages() const { return shrinks ? std::min(pages(), pages_per_sequence()) : pages(); }
    BatchLimits limits() const { return {rows, sequences, pages_per_sequence(), logits}; }
};

struct ReplicaPlan {
    ReplicaRequest request;
    int pages = 0;                   // of the cache
    Plan plan;                       // with teams; ranks beyond them are idle, and named in its warnings
    std::vector<StageNeeds> stages;  // of each team: where the layers are cut
    // Bytes that a rank of each stage takes of its room: weights, cache, activations, connections. What comes
    // with the program is not in it.
    std::vector<std::uint64_t> takes;
    std::uint64_t working = 0;  // bytes of each rank that its passes take: activations, scratch space

    // Bytes that the fullest rank of a stage keeps: weights, and the cache of all pages.
    std::uint64_t kept_bytes(const StageNeeds& stage) const {
        return stage.weights + stage.kv_per_token * static_cast<std::uint64_t>(pages) * kv_page_tokens;
    }
};

// Throws JobError for a cut that the model does not allow, MachineError for one that there are too few ranks
// for or into which the model does not fit; both say what would do.
// work: of a job, for the plan's estimates.
ReplicaPlan plan_replica(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                         const Workload& work = {});

}  // namespace voltpile::llm
