// Forwards every call to another Ops and, if a stopwatch is set, marks the end of each operation.
#pragma once

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

    void embed(const WeightMatrix& table, const BatchView& batch, float scale, FloatRows x) override;
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                      SentinelPlace place) override;
    void rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) override;
    void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) override;
    void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) override;
    void add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) override;
    void norm_matmul(const RmsNorm& x, std::span<const WeightMatrix* const> weights, HiddenRows out) override;
    void norm_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                           Activation activation, HiddenRows out) override;
    void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up, Activation activation,
                      HiddenRows out) override;
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      HiddenRows out) override;
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      FloatRows out) override;
    void gate(HiddenRows x, Activation activation, HiddenRows out) override;
    void matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                      HeadColumns to) override;
    void copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) override;
    void sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) override;
    void route(HiddenRows x, const RouterSettings& settings, const BatchView& batch,
               const Routing& to) override;
    void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                       Activation activation, const Routing& routing, HiddenRows out) override;
    void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing, FloatRows out) override;
    void rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                        const KvLayer& cache) override;
    void attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                   const AttentionSettings& attention, HiddenRows out) override;
    void attend(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                const AttentionSettings& attention_settings, HiddenRows out) override;
    void soft_cap(FloatRows x, float cap) override;
    void gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) override;
    void gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) override;
    void store_rows(HiddenRows x, const BatchView& batch, HiddenRows to) override;
    void recall_rows(HiddenRows from, const BatchView& batch, FloatRows out) override;
    void join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) override;
    void sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                float* log_probability) override;
    void top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                               float* log_probabilities) override;

  private:
    void mark(const std::string& name) const { mark(name.c_str()); }

    Ops& ops_;
    Stopwatch* stopwatch_ = nullptr;
};

}  // namespace voltpile::llm
