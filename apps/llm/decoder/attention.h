// The attention of a layer, or one rank's heads of it: from normed rows to the rank's part of the output.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "llm/decoder/attention_matrices.h"
#include "llm/decoder/decoder_links.h"
#include "llm/decoder/norm.h"
#include "llm/decoder/part_output.h"
#include "llm/decoder/rope_tables.h"

namespace voltpile::llm {

// Activations that all layers share.
class AttentionBuffers {
  public:
    // order: of make_order_buffer(). rows: of the largest pass. ops must outlive the buffers.
    AttentionBuffers(Ops& ops, const ModelConfig& config, const RankShare& share,
                     std::shared_ptr<OpsMemory> order, std::int64_t rows);

    // Returns memory of the rows that matrix o multiplies, zeros, the same for all layers with this place of
    // the heads in so many columns.
    void* attended(std::int64_t begin, std::int64_t columns);

    std::unique_ptr<OpsMemory> qkv;
    std::unique_ptr<OpsMemory> squares;  // null unless a norm spans all heads
    ProjectionBuffers projection;

  private:
    Ops& ops_;
    std::int64_t rows_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::unique_ptr<OpsMemory>> attended_;
};

class Attention {
  public:
    // rope and buffers must outlive this object.
    Attention(const WeightLoader& loader, int layer, const RopeTables& rope, AttentionBuffers& buffers);

    // Computes the rows that matrix o multiplies, and returns them. input: normed. place: of a latent vector
    // that is not finite.
    HiddenRows run(Ops& ops, DecoderLinks& links, const RmsNorm& input, const BatchView& batch,
                   const KvLayer& cache, SentinelPlace place) const;
    // The part of run() behind the matrices. qkv: before biases, norms and RoPE. out: a row may be longer
    // than the heads.
    void attend(Ops& ops, DecoderLinks& links, HiddenRows qkv, const BatchView& batch, const KvLayer& cache,
                HiddenRows out) const;

    // Whether the output of so many rows should be added. With adapters, the order of sums depends on it.
    bool adds(const Ops& ops, std::int64_t rows) const {
        return ops.adds(rows, *matrices_.o) && (!o_adapters_ || !ops.batch_invariant());
    }
    // Multiplies the rows of run(). out: this rank's part, before the sum over all ranks; with output_bias()
    // only if it is added.
    void output(Ops& ops, HiddenRows attended, const BatchView& batch, FloatRows out, PartOutput use) const;
    // Of the sum over all ranks; nullptr: there is none.
    const float* output_bias() const { return numbers(o_bias_); }

  private:
    static const float* numbers(const std::unique_ptr<OpsMemory>& memory) {
        return memory ? static_cast<const float*>(memory->data()) : nullptr;
    }
    void set_heads(const WeightLoader& loader, int layer, const RopeTables& rope);
    // Matrix o has rows of whole quantization blocks. If these begin or end within a head, the heads fill a
    // part of each row, and the rest is 0.
    void place_attended(const TensorShard& shard, std::size_t element_bytes);

    AttentionBuffers& buffers_;
    std::unique_ptr<OpsMemory> q_bias_, k_bias_, v_bias_, o_bias_, sinks_;  // null: there is none
    Norm q_norm_, k_norm_;
    AttentionMatrices matrices_;
    std::unique_ptr<AdapterWeights> qkv_adapters_, o_adapters_;  // null: no adapter changes the matrices
    QkvSettings qkv_;
    AttentionSettings settings_;
    void* attended_ = nullptr;
    std::size_t skipped_bytes_ = 0;  // of a row of attended_, before the heads
};

}  // namespace voltpile::llm
