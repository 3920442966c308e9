#include "llm/ops/expert_layer.h"

#include "llm/ops/ops.h"

namespace voltpile::llm {

void run_experts(Ops& ops, HiddenRows x, const ExpertLayer& layer, const BatchView& batch,
                 const Routing& routing, float* added, HiddenRows gated, FloatRows out) {
    const bool adds = layer.gate_up_adapters != nullptr && batch.adapter != nullptr;
    if (adds)
        ops.adapt_experts(x, *layer.gate_up_adapters, batch, routing, {added, gated.rows, 2 * gated.columns});
    ops.gated_experts(x, *layer.gate, *layer.up, layer.activation, routing, adds ? added : nullptr, gated);
    ops.sum_experts(gated, *layer.down, routing, out);
    if (layer.down_adapters != nullptr && batch.adapter != nullptr)
        ops.add_expert_adapters(gated, *layer.down_adapters, batch, routing, out);
}

}  // namespace voltpile::llm
