// Which part of each tensor a rank of a tensor-parallel team holds.
#pragma once

#include <cstddef>
#include <string>

#include "llm/model/model_source.h"

namespace voltpile::llm {

struct IndexRange {
    std::size_t begin;
    std::size_t end;
    std::size_t size() const { return end - begin; }
    bool operator==(const IndexRange&) const = default;
};

// Which of the model's heads, KV heads, feed-forward elements and words a rank works on. Heads are cut
// evenly; KV heads too, up to one a rank, beyond which ranks share them. The feed-forward elements are cut at
// block boundaries of ffn_down, so that ranks may differ by a block; words as evenly as can be.
struct RankShare {
    IndexRange heads;
    IndexRange kv_heads;
    IndexRange ffn;
    IndexRange words;
};

// Why the model cannot be cut over `ranks`, for people; empty if it can.
std::string tensor_parallel_obstacle(const ModelSource& model, int ranks);

// `ranks` has no obstacle.
RankShare rank_share(const ModelSource& model, int rank, int ranks);

// What a rank holds of a tensor. Where a cut by columns falls within a block (attn_output of K-quants with an
// odd number of heads a rank), `stored` reaches to the blocks' ends, and the input elements outside
// `used_columns`, which are of the tensor's columns, must be taken as zero.
struct TensorShard {
    TensorSlice stored;
    IndexRange used_columns;
};

TensorShard tensor_shard(const ModelSource& model, const ModelTensor& tensor, const RankShare& share);

}  // namespace voltpile::llm
