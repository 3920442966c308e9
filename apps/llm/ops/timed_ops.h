// Forwards every call to another Ops and, if a stopwatch is set, marks the end of each operation.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "llm/ops/ops.h"
#include "llm/ops/stopwatch.h"

namespace voltpile::llm {

class TimedOps final : public Ops {
  public:
    explicit TimedOps(Ops& ops) : ops_(ops) {}

    // Sets the stopwatch; nullptr: none. It must stay valid until the next use().
    void use(Stopwatch* stopwatch) { stopwatch_ = stopwatch; }
    bool timed() const { return stopwatch_ != nullptr; }
    void mark(const char* name) const {
        if (timed()) stopwatch_->mark(name);
    }

    Element hidden_element() const override { return ops_.hidden_element(); }
    bool batch_invariant() const override { return ops_.batch_invariant(); }
    std::string describe() const override { return ops_.describe(); }
    std::unique_ptr<OpsMemory> allocate(std::size_t bytes) override { return ops_.allocate(bytes); }
    std::unique_ptr<OpsMemory> allocate_on_host(std::size_t bytes) override {
        return ops_.allocate_on_host(bytes);
    }
    void copy_rows(const StridedRows& to, const StridedRows& from, std::size_t bytes,
                   std::size_t rows) override {
        ops_.copy_rows(to, from, bytes, rows);
    }
    void upload(void* to, const void* from_host, std::size_t bytes) override {
        ops_.upload(to, from_host, bytes);
    }
    void download(void* to_host, const void* from, std::size_t bytes) override {
        ops_.download(to_host, from, bytes);
    }
    std::unique_ptr<HostCopy> make_host_copy(std::size_t most_bytes) override {
        return ops_.make_host_copy(most_bytes);
    }
    void synchronize() override { ops_.synchronize(); }
    std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) override {
        return ops_.load_matrix(source);
    }
    void allow_integers(std::span<WeightMatrix* const> weights, bool gated) override {
        ops_.allow_integers(weights, gated);
    }
    std::unique_ptr<ExpertWeights> join_experts(std::vector<std::unique_ptr<WeightMatrix>> experts,
                                                std::unique_ptr<OpsMemory> bias) override {
        return ops_.join_experts(std::move(experts), std::move(bias));
    }
    std::unique_ptr<HostExperts> make_host_experts(const HostExpertShape& shape) override;
    std::unique_ptr<JointSums> make_joint_sums(std::unique_ptr<PeerArea> area, std::int64_t rows,
                                               std::int64_t columns) override {
        return ops_.make_joint_sums(std::move(area), rows, columns);
    }
    std::unique_ptr<AdapterWeights> load_adapters(const AdapterSource& source) override {
        return ops_.load_adapters(source);
    }
    std::unique_ptr<Recording> record(std::function<void()> enqueue) override {
        return ops_.record(std::move(enqueue));
    }
    SentinelReport take_sentinel() override { return ops_.take_sentinel(); }

    void embed(const WeightMatrix& table, const BatchView& batch, float scale, FloatRows x) override {
        ops_.embed(table, batch, scale, x);
        mark("embedding");
    }
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                      SentinelPlace place) override {
        ops_.add_rms_norm(x, delta, weight, eps, out, place);
        mark("norm");
    }
    void rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) override {
        ops_.rms_norm(x, weight, eps, place);
        mark("norm");
    }
    void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) override {
        ops_.matmul(x, weights, out);
        if (timed()) mark(fmt::format("product {} x {}", out.columns, x.columns));
    }
    void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) override {
        ops_.matmul(x, weight, out);
        if (timed()) mark(fmt::format("product {} x {}", out.columns, x.columns));
    }
    void matmul_part(HiddenRows x, const WeightMatrix& weight, JointPart part, FloatRows out) override {
        ops_.matmul_part(x, weight, part, out);
        if (timed()) mark(fmt::format("product {} x {}", out.columns, x.columns));
    }
    bool adds(std::int64_t rows, const WeightMatrix& weight) const override {
        return ops_.adds(rows, weight);
    }
    bool adds_experts(std::int64_t rows) const override { return ops_.adds_experts(rows); }
    void add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) override {
        ops_.add_matmul(x, weight, bias, out);
        if (timed()) mark(fmt::format("product {} x {}", out.columns, x.columns));
    }
    void norm_matmul(const RmsNorm& x, std::span<const WeightMatrix* const> weights,
                     HiddenRows out) override {
        ops_.norm_matmul(x, weights, out);
        if (timed()) mark(fmt::format("product {} x {} with its norm", out.columns, x.out.columns));
    }
    void norm_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                           Activation activation, HiddenRows out) override {
        ops_.norm_gated_matmul(x, gate, up, activation, out);
        if (timed()) mark(fmt::format("gated product 2 x {} x {} with its norm", out.columns, x.out.columns));
    }
    void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up, Activation activation,
                      HiddenRows out) override {
        ops_.gated_matmul(x, gate, up, activation, out);
        if (timed()) mark(fmt::format("gated product 2 x {} x {}", out.columns, x.columns));
    }
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      HiddenRows out) override {
        ops_.add_adapters(x, adapters, batch, out);
        mark("adapters");
    }
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      FloatRows out) override {
        ops_.add_adapters(x, adapters, batch, out);
        mark("adapters");
    }
    void adapted_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                              Activation activation, const AdapterWeights& adapters, const BatchView& batch,
                              HiddenRows both, HiddenRows out) override {
        ops_.adapted_gated_matmul(x, gate, up, activation, adapters, batch, both, out);
        if (timed()) mark(fmt::format("gated product 2 x {} x {} with adapters", out.columns, x.out.columns));
    }
    void matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                      HeadColumns to) override {
        ops_.matmul_heads(x, from, weight, out, to);
        if (timed()) mark(fmt::format("product of heads {} x {}", weight.rows(), weight.columns()));
    }
    void copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) override {
        ops_.copy_heads(x, from, heads, out, to);
        mark("copy of heads");
    }
    void gather_columns(HiddenRows x, const std::int32_t* order, HiddenRows out) override {
        ops_.gather_columns(x, order, out);
        mark("copy of columns");
    }
    void sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) override {
        ops_.sum_squares(qkv, settings, sums);
        mark("norm");
    }
    void route(HiddenRows x, const RouterSettings& settings, const BatchView& batch, const Routing& to,
               const AdapterWeights* adapters) override {
        ops_.route(x, settings, batch, to, adapters);
        mark("router");
    }
    void norm_route(const RmsNorm& x, const RouterSettings& settings, const BatchView& batch,
                    const Routing& to, const AdapterWeights* adapters) override {
        ops_.norm_route(x, settings, batch, to, adapters);
        mark("router");
    }
    void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                       Activation activation, const Routing& routing, const float* added,
                       HiddenRows out) override {
        ops_.gated_experts(x, gate, up, activation, routing, added, out);
        if (timed())
            mark(fmt::format("gated experts {} x 2 x {} x {}", gate.count(), gate.rows(), gate.columns()));
    }
    bool norm_route_gated(const RmsNorm& x, const RouterSettings& settings, const BatchView& batch,
                          const Routing& to, const ExpertWeights& gate, const ExpertWeights& up,
                          Activation activation, HiddenRows out) override {
        const bool done = ops_.norm_route_gated(x, settings, batch, to, gate, up, activation, out);
        if (done && timed())
            mark(fmt::format("router and gated experts {} x 2 x {} x {}", gate.count(), gate.rows(),
                             gate.columns()));
        return done;
    }
    void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing,
                     FloatRows out) override {
        ops_.sum_experts(x, down, routing, out);
        if (timed()) mark(fmt::format("experts {} x {} x {}", down.count(), down.rows(), down.columns()));
    }
    void adapt_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                       const Routing& routing, FloatRows out) override {
        ops_.adapt_experts(x, adapters, batch, routing, out);
        mark("adapters");
    }
    void add_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                             const Routing& routing, FloatRows out) override {
        ops_.add_expert_adapters(x, adapters, batch, routing, out);
        mark("adapters");
    }
    void rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                        const KvLayer& cache) override {
        ops_.rope_and_store(qkv, settings, batch, cache);
        mark("rope and store");
    }
    void attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                   const AttentionSettings& attention, HiddenRows out) override {
        ops_.attention(qkv, settings, batch, cache, attention, out);
        mark("attention");
    }
    void attend(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                const AttentionSettings& attention_settings, HiddenRows out) override {
        ops_.attend(qkv, settings, batch, cache, attention_settings, out);
        mark("attention");
    }
    void soft_cap(FloatRows x, float cap) override {
        ops_.soft_cap(x, cap);
        mark("soft cap");
    }
    void gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) override {
        ops_.gather_rows(x, batch, out);
        mark("gather and join");
    }
    void gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) override {
        ops_.gather_float_rows(x, batch, out);
        mark("gather and join");
    }
    void store_rows(HiddenRows x, const BatchView& batch, HiddenRows to) override {
        ops_.store_rows(x, batch, to);
        mark("gather and join");
    }
    void recall_rows(HiddenRows from, const BatchView& batch, FloatRows out) override {
        ops_.recall_rows(from, batch, out);
        mark("gather and join");
    }
    void join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) override {
        ops_.join_columns(parts, column_begin, out);
        mark("gather and join");
    }
    void sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                float* log_probability) override {
        ops_.sample(logits, sampling, tokens, log_probability);
        mark("sampling");
    }
    void top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                               float* log_probabilities) override {
        ops_.top_log_probabilities(logits, n, tokens, log_probabilities);
        mark("top tokens");
    }

  private:
    void mark(const std::string& name) const { mark(name.c_str()); }

    Ops& ops_;
    Stopwatch* stopwatch_ = nullptr;
};

}  // namespace voltpile::llm
