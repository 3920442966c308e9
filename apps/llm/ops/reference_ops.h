// The definition of every operation as a plain loop with sums in fp64. Slow; tests compare the other
// implementations with it.
#pragma once

#include "llm/ops/host_ops.h"

namespace voltpile::llm {

// The gated product of one element, see Activation.
double gated_reference(Activation activation, double g, double u);

class ReferenceOps final : public HostOps {
  public:
    explicit ReferenceOps(bool clamp = false) : HostOps(clamp) {}

    std::string describe() const override { return "reference"; }

    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                      SentinelPlace place) override;
    void rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) override;
    void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) override;
    void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) override;
    void add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) override;
    void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up, Activation activation,
                      HiddenRows out) override;
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      HiddenRows out) override {
        add_adapters(x, adapters, batch, host(out));
    }
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      FloatRows out) override;
    void gate(HiddenRows x, Activation activation, HiddenRows out) override;
    void matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                      HeadColumns to) override;
    void copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) override;
    void sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) override;
    void route(HiddenRows x, const RouterSettings& settings, const BatchView& batch, const Routing& to,
               const AdapterWeights* adapters) override;
    void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                       Activation activation, const Routing& routing, const float* added,
                       HiddenRows out) override;
    void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing, FloatRows out) override;
    void adapt_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                       const Routing& routing, FloatRows out) override;
    void add_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                             const Routing& routing, FloatRows out) override;
    void rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                        const KvLayer& cache) override;
    void attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                   const AttentionSettings& attention, HiddenRows out) override;
    void soft_cap(FloatRows x, float cap) override;
    void sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                float* log_probability) override;
    void top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                               float* log_probabilities) override;
};

}  // namespace voltpile::llm
