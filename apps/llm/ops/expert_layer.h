// The experts of one layer, and the operations that compute them one after the other.
#pragma once

#include "llm/model/layer_blocks.h"
#include "llm/ops/adapters.h"
#include "llm/ops/batch_view.h"
#include "llm/ops/operands.h"
#include "llm/ops/weight_matrix.h"

namespace voltpile::llm {

class Ops;
struct FloatRows;
struct HiddenRows;

// Not owned. All loaded by the same Ops.
struct ExpertLayer {
    const ExpertWeights* gate = nullptr;
    const ExpertWeights* up = nullptr;
    const ExpertWeights* down = nullptr;
    Activation activation = Activation::Silu;
    // See Ops::adapt_experts and Ops::add_expert_adapters; nullptr: no adapter changes these matrices.
    const AdapterWeights* gate_up_adapters = nullptr;
    const AdapterWeights* down_adapters = nullptr;

    // Whether rows of the batch may have an adapter that changes the experts.
    bool adapted_in(const BatchView& batch) const {
        return batch.adapter != nullptr && (gate_up_adapters != nullptr || down_adapters != nullptr);
    }
};

// Ops::gated_experts and Ops::sum_experts in one, with the products of adapters, of which the batch says
// which row has which. gated: (rows * used, rows of gate). added: fp32 (rows * used, 2 * rows of gate);
// nullptr if no adapter changes gate or up.
void run_experts(Ops& ops, HiddenRows x, const ExpertLayer& layer, const BatchView& batch,
                 const Routing& routing, float* added, HiddenRows gated, FloatRows out);

}  // namespace voltpile::llm
