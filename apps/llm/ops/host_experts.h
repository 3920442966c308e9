// Experts of some layers in host memory, for models whose experts do not fit into a GPU's memory. Cores
// compute them; everything else of the layer stays on the device.
#pragma once

#include <cstdint>
#include <functional>

#include "llm/model/layer_blocks.h"
#include "llm/ops/operands.h"
#include "llm/ops/weight_matrix.h"

namespace voltpile::llm {

class Ops;
struct FloatRows;
struct HiddenRows;

// The largest pass.
struct HostExpertShape {
    std::int64_t rows = 0;     // tokens
    std::int64_t columns = 0;  // of the hidden state; even
    int used = 0;              // experts of each row
    // For passes of at least that many rows, the weights of a layer are copied to the device, which computes
    // them; 0: never.
    std::int64_t streamed_rows = 0;
};

// The experts of one layer. Not owned; loaded by HostExperts::cores().
struct HostExpertLayer {
    const ExpertWeights* gate = nullptr;
    const ExpertWeights* up = nullptr;
    const ExpertWeights* down = nullptr;
    Activation activation = Activation::Silu;
};

// Created by Ops::make_host_experts(). All layers share it, one after the other, on the thread of the Ops.
class HostExperts {
  public:
    virtual ~HostExperts() = default;

    // The operations that load and join the experts' weights, in host memory.
    virtual Ops& cores() = 0;

    // Allocates what passes over the layer need. Called once for each layer, before sum().
    virtual void prepare(const HostExpertLayer& layer) = 0;

    // Ops::gated_experts and Ops::sum_experts in one. x, routing, gated and out are in device memory, as
    // there; gated may keep its values. `meanwhile` enqueues operations that run while the cores compute: a
    // shared expert, which leaves its output in `out`; empty: none. It must not change x or routing. May be
    // recorded (Ops::record); the layer must outlive the recording. replayed: BatchView::replayed; cores then
    // compute passes of any number of rows, as in a recording.
    virtual void sum(HiddenRows x, const HostExpertLayer& layer, const Routing& routing, HiddenRows gated,
                     FloatRows out, const std::function<void()>& meanwhile, bool replayed) = 0;

    // Throws DeviceError if the cores have failed in a pass that has completed. The outputs of such a pass
    // are NaN.
    virtual void check() const = 0;
};

}  // namespace voltpile::llm
