// Moves the activations of a pass between two cuts over a tensor-parallel group: by rows, where a rank has
// all heads of its share of the rows, and by heads, where it has its heads of all rows. The shares of rows
// are those of joint_share(), one rank's after the other's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "llm/decoder/decoder_links.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {

struct HeadExchangeShape {
    int rank = 0;
    int ranks = 1;
    std::int64_t heads = 0;      // of the model, as the next one: each rank has as many, see rank_share()
    std::int64_t kv_heads = 0;   // neighbors have the same one if there are fewer than ranks
    std::int64_t head_dim = 0;   // of queries, keys and values
    std::int64_t value_dim = 0;  // of attention's output for a head
    std::int64_t rows = 0;       // of the largest pass

    std::int64_t heads_here() const { return heads / ranks; }  // of a rank
    std::int64_t kv_heads_here() const { return std::max<std::int64_t>(1, kv_heads / ranks); }
    std::int64_t width() const { return (heads_here() + 2 * kv_heads_here()) * head_dim; }
    std::int64_t value_width() const { return heads_here() * value_dim; }
    // Numbers of the largest part that a rank sends to another one.
    std::int64_t part() const { return joint_share(rows, ranks) * std::max(width(), value_width()); }
};

HeadExchangeShape head_exchange_shape(const ModelConfig& config, int rank, int ranks, std::int64_t rows);

class HeadExchange {
  public:
    // ops and links must outlive this object.
    HeadExchange(Ops& ops, DecoderLinks& links, const HeadExchangeShape& shape);

    // The rows that this rank has when a pass of `rows` rows is cut by rows; perhaps none.
    IndexRange own(std::int64_t rows) const;

    // qkv: (own rows, (heads + 2 * kv_heads) * head_dim) of all heads, queries, then keys, then values.
    // Returns the same of this rank's heads for all rows of the pass, valid until to_rows().
    HiddenRows to_heads(HiddenRows qkv, std::int64_t rows);

    // Where attention writes what to_rows() moves: (rows, this rank's heads * value_dim).
    HiddenRows attended(std::int64_t rows) const { return {sent_->data(), rows, shape_.value_width()}; }
    // Returns it for all heads of this rank's rows, (own rows, heads * value_dim), valid until the next call.
    HiddenRows to_rows(std::int64_t rows);

  private:
    // Exchanges one part of `share` rows and so many columns with each rank.
    void exchange(std::int64_t share, std::int64_t columns);

    Ops& ops_;
    DecoderLinks& links_;
    HeadExchangeShape shape_;
    std::unique_ptr<OpsMemory> sent_, received_;  // a part for each rank
    std::unique_ptr<OpsMemory> outputs_;          // of all heads for this rank's rows
};

}  // namespace voltpile::llm
