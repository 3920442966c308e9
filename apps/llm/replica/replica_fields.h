// The settings of replicas that users can choose: one table for the options of commands and the keys of job
// files.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

struct ReplicaField {
    using Member = std::variant<int ReplicaRequest::*, bool ReplicaRequest::*>;

    std::string_view
        name;  // "batch_invariant": the key is engine.batch_invariant, the option --batch-invariant
    Member member;
    int least;  // of a number
    int most;
    int usual;              // the default of jobs and servers
    bool identity;          // of a job: whether its results depend on the field
    std::string_view help;  // a clause without a period at its end
};

inline constexpr std::array kReplicaFields{
    ReplicaField{"context", &ReplicaRequest::context, 0, 1 << 24, 0, true,
                 "maximum number of tokens in a sequence, prompt included; 0: the model's context"},
    ReplicaField{"sequences", &ReplicaRequest::sequences, 1, 4096, 64, false,
                 "sequences that each replica of the model generates at once"},
    ReplicaField{
        "host_cache_tokens", &ReplicaRequest::host_cache_tokens, 0, 1 << 30, 0, false,
        "tokens of idle conversations that each replica keeps in host memory when its KV cache needs their "
        "room; 0: none. A conversation that continues is copied back, which takes less time than "
        "computing it again"},
    ReplicaField{
        "rows", &ReplicaRequest::rows, 0, 65536, 0, false,
        "maximum number of tokens in a pass through the model; at least the number of sequences. 0: 512 "
        "on cores; on GPUs up to 8,192, as many as memory and a second's work allow; at least as many as "
        "context_parallel needs"},
    ReplicaField{
        "tensor", &ReplicaRequest::tensor, 0, 1024, 0, false,
        "ranks that share each layer (tensor parallelism); 0: as many as there are and the model can "
        "be split over"},
    ReplicaField{"pipeline", &ReplicaRequest::pipeline, 0, 1024, 0, false,
                 "stages that divide the layers (pipeline parallelism); 0: as few as hold the model"},
    ReplicaField{"replicas", &ReplicaRequest::replicas, 0, 65536, 0, false,
                 "copies of the model, which share the work; 0: as many as fit"},
    ReplicaField{
        "experts_on_host", &ReplicaRequest::experts_on_host, -1, 65536, -1, false,
        "layers, the last ones that have any, whose experts stay in host memory, where cores compute "
        "them, on ranks with GPUs; -1: as few as let the model fit"},
    ReplicaField{
        "context_parallel", &ReplicaRequest::context_parallel, 0, 0, 0, false,
        "cut long prompts by their tokens over the ranks that share each layer: each computes its part with "
        "whole layers, which it keeps beside its share of them, so that queries, keys, values and outputs of "
        "attention travel between the ranks instead of sums over them; a row's last bits then depend on the "
        "number of rows in its pass"},
    ReplicaField{
        "batch_invariant", &ReplicaRequest::batch_invariant, 0, 0, 0, false,
        "on GPUs: compute each sequence to the same bits whatever else is in the batch, as CPUs "
        "always do. Prompts then take up to a tenth longer, very long ones a little more, or two to three "
        "times as long without room for copies of the weights; a single sequence takes a third longer, "
        "of a dense model with 8-bit weights on H100 and H200 hardly longer, of a mixture of experts 1.6 to "
        "1.9 times as long; "
        "with latent attention (DeepSeek) everything takes several times as long"},
    ReplicaField{"draft_tokens", &ReplicaRequest::draft_tokens, 1, 64, 8, false,
                 "the most tokens guessed ahead for a sequence in a pass, if tokens are guessed; fewer where "
                 "guesses are often wrong or a pass with more rows takes longer than it saves"},
    ReplicaField{
        "draft_ranks", &ReplicaRequest::draft_ranks, 0, 1024, 0, false,
        "ranks that hold the draft model alone, the last ones; the others hold the model, once. 0: all "
        "ranks hold both"},
    ReplicaField{"clamp", &ReplicaRequest::clamp, 0, 0, 0, true,
                 "clamp activations that overflow fp16 to 65504, its largest number, instead of infinity: "
                 "for models trained in bf16 whose logits become non-finite"},
};

// Returns the field of this name, which must exist.
constexpr const ReplicaField& replica_field(std::string_view name) {
    std::size_t at = 0;
    while (kReplicaFields.at(at).name != name) ++at;
    return kReplicaFields[at];
}

}  // namespace voltpile::llm
