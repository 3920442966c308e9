// The weights of an RMS norm. A model's blocks may lack some of their norms; such a norm is empty.
#pragma once

#include <memory>

#include "llm/decoder/weight_loader.h"

namespace voltpile::llm {

class Norm {
  public:
    Norm() = default;
    // Loads the weights, with the model's offset and times `scale`.
    Norm(const WeightLoader& loader, const ModelTensor& tensor, float scale = 1);

    explicit operator bool() const { return weight_ != nullptr; }
    // fp32, in device memory; nullptr if the norm is empty.
    const float* weight() const { return weight_ ? static_cast<const float*>(weight_->data()) : nullptr; }

    // The norm of the residual stream x after delta is added to it, for an operation that computes it
    // together with its own work. Without weights: the sum alone. The stream is divided by
    // config.residual_scale, so that what layers add needs no factor, and the epsilon is that of the
    // undivided stream.
    RmsNorm of_stream(FloatRows x, AddedRows delta, HiddenRows out, SentinelPlace place) const {
        return {x, weight(), stream_eps_, place, out, delta};
    }
    // The same, at once.
    void add(Ops& ops, FloatRows x, AddedRows delta, HiddenRows out, SentinelPlace place) const {
        ops.add_rms_norm(x, delta, weight(), stream_eps_, out, place);
    }
    // The norm of other rows, such as a layer's output, in place. Nothing if the norm is empty.
    void apply(Ops& ops, FloatRows rows, SentinelPlace place) const {
        if (weight_) ops.rms_norm(rows, weight(), eps_, place);
    }

  private:
    std::unique_ptr<OpsMemory> weight_;
    float eps_ = 0, stream_eps_ = 0;
};

}  // namespace voltpile::llm
