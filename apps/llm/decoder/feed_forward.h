// The feed-forward part of a layer, or one rank's share of it: a gated product, or a mixture of experts.
#pragma once

#include <cstdint>
#include <memory>

#include "llm/decoder/input_order.h"
#include "llm/decoder/part_output.h"
#include "llm/decoder/weight_loader.h"
#include "llm/model/lora/adapter_memory.h"

namespace voltpile::llm {

// Activations of the feed-forward part, which all layers share.
struct FeedForwardBuffers {
    // order: of make_order_buffer(). rows: of the largest pass.
    FeedForwardBuffers(Ops& ops, const ModelConfig& config, const RankShare& share,
                       std::shared_ptr<OpsMemory> order, std::int64_t rows,
                       const AdapterBuffers& for_adapters);

    std::int64_t rows;
    std::shared_ptr<OpsMemory> order;
    std::unique_ptr<OpsMemory> gate_up;     // products of gate and up before they are gated; may be null
    std::unique_ptr<OpsMemory> added;       // to the gates of experts, see Ops::gated_experts; may be null
    std::unique_ptr<OpsMemory> gated;       // of the dense part, or of the shared expert
    std::unique_ptr<OpsMemory> of_experts;  // gated products of each row's experts
    std::unique_ptr<OpsMemory> routing;
};

class FeedForwardPart {
  public:
    virtual ~FeedForwardPart() = default;
    // out: the rank's part of the layer's output, before the sum over all ranks. x: the normed rows.
    virtual void run(Ops& ops, const RmsNorm& x, const BatchView& batch, const FeedForwardBuffers& buffers,
                     FloatRows out, PartOutput use) const = 0;
    // Whether the output of so many rows should be added. With adapters, the order of sums depends on it.
    virtual bool adds(const Ops& ops, std::int64_t rows) const = 0;
};

// Loads a layer's part as the model's description says. host: computes the layer's experts, which stay in
// host memory, and outlives the part; nullptr: they are on the device.
std::unique_ptr<FeedForwardPart> load_feed_forward(const WeightLoader& loader, int layer,
                                                   HostExperts* host = nullptr);

}  // namespace voltpile::llm
