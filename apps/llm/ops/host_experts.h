// Experts of some layers in host memory, for models whose experts do not fit into a GPU's memory. Cores
// compute them; everything else of the layer stays on the device.
#pragma once

#include <cstdint>
#include <functional>

#include "llm/ops/expert_layer.h"

namespace voltpile::llm {

// The largest pass.
struct HostExpertShape {
    std::int64_t rows = 0;     // tokens
    std::int64_t columns = 0;  // of the hidden state; even
    int used = 0;              // experts of each row
    // For passes of at least that many rows, none of which has an adapter that changes experts, the weights
    // of a layer are copied to the device, which computes them; 0: never.
    std::int64_t streamed_rows = 0;
};

// Created by Ops::make_host_experts(). All layers share it, one after the other, on the thread of the Ops.
class HostExperts {
  public:
    virtual ~HostExperts() = default;

    // The operations that load layers: weights and factors in host memory.
    virtual Ops& cores() = 0;

    // Allocates what passes over the layer need. Called once for each layer, before sum().
    virtual void prepare(const ExpertLayer& layer) = 0;

    // As run_experts(). x, batch, routing, gated and out are in device memory; gated may keep its values.
    // `meanwhile` enqueues operations that run while the cores compute: a shared expert, which leaves its
    // output in `out`; empty: none. It must not change x or routing. May be recorded (Ops::record); the layer
    // must outlive the recording. If batch.replayed, cores compute passes of any number of rows, as in a
    // recording.
    virtual void sum(HiddenRows x, const ExpertLayer& layer, const BatchView& batch, const Routing& routing,
                     HiddenRows gated, FloatRows out, const std::function<void()>& meanwhile) = 0;

    // Throws DeviceError if the cores have failed in a pass that has completed. The outputs of such a pass
    // are NaN.
    virtual void check() const = 0;
};

}  // namespace voltpile::llm
