// Computes the part of each tensor that a rank of a tensor-parallel group holds.
#pragma once

#include <cstddef>
#include <string>

#include "llm/model/model_source.h"

namespace voltpile::llm {

struct IndexRange {
    std::size_t begin;
    std::size_t end;
    std::size_t size() const { return end - begin; }
    bool has(std::size_t index) const { return index >= begin && index < end; }
    bool operator==(const IndexRange&) const = default;
};

// The heads, KV heads, feed-forward elements and words of the vocabulary that a rank computes. Heads are
// split evenly; KV heads too, down to one a rank, and beyond that ranks share them. Feed-forward elements are
// split at block boundaries of ffn_down, so ranks may differ by a block; words are split as evenly as
// possible. Ranks have either a part of each expert, cut like other feed-forward parts, or some experts whole
// (expert parallelism).
struct RankShare {
    IndexRange heads;
    IndexRange kv_heads;
    IndexRange ffn;         // of a dense feed-forward part
    IndexRange experts;     // that the rank has a part of, or has whole
    IndexRange expert_ffn;  // of each of these
    IndexRange shared_ffn;  // of the shared expert
    IndexRange words;
};

// Explains why the model cannot be split over `ranks` ranks; empty if it can.
std::string tensor_parallel_obstacle(const ModelSource& model, int ranks);

// Whether ranks have whole experts: where experts have fewer blocks than there are ranks, or where the rank
// with the most blocks would read more for one token than the busiest rank with whole experts
// (expert_load.h).
bool has_whole_experts(const ModelSource& model, int ranks);

// Returns the share of a rank. There must be no obstacle for `ranks`.
RankShare rank_share(const ModelSource& model, int rank, int ranks);

// The part of a tensor that a rank holds. If a cut by columns falls within a block (attn_output of K-quants
// with an odd number of heads on a rank), `stored` extends to the block boundaries, and the inputs outside
// `used_columns` must be zero. used_columns: in columns of the whole tensor.
struct TensorShard {
    TensorSlice stored;
    IndexRange used_columns;
};

TensorShard tensor_shard(const ModelSource& model, const ModelTensor& tensor, const RankShare& share);

}  // namespace voltpile::llm
