#include "llm/ops/timed_ops.h"

#include <fmt/format.h>

namespace voltpile::llm {
namespace {

class TimedHostExperts final : public HostExperts {
  public:
    TimedHostExperts(std::unique_ptr<HostExperts> experts, const TimedOps& ops)
        : experts_(std::move(experts)), ops_(ops) {}
    Ops& cores() override { return experts_->cores(); }
    void prepare(const HostExpertLayer& layer) override { experts_->prepare(layer); }
    void sum(HiddenRows x, const HostExpertLayer& layer, const Routing& routing, HiddenRows gated,
             FloatRows out, const std::function<void()>& meanwhile, bool replayed) override {
        experts_->sum(x, layer, routing, gated, out, meanwhile, replayed);
        ops_.mark("experts in host memory");
    }
    void check() const override { experts_->check(); }

  private:
    std::unique_ptr<HostExperts> experts_;
    const TimedOps& ops_;
};

}  // namespace

std::unique_ptr<HostExperts> TimedOps::make_host_experts(const HostExpertShape& shape) {
    return std::make_unique<TimedHostExperts>(ops_.make_host_experts(shape), *this);
}

void TimedOps::embed(const WeightMatrix& table, const BatchView& batch, float scale, FloatRows x) {
    ops_.embed(table, batch, scale, x);
    mark("embedding");
}

void TimedOps::add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                            SentinelPlace place) {
    ops_.add_rms_norm(x, delta, weight, eps, out, place);
    mark("norm");
}

void TimedOps::matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) {
    ops_.matmul(x, weights, out);
    if (timed()) mark(fmt::format("product {} x {}", out.columns, x.columns));
}

void TimedOps::matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) {
    ops_.matmul(x, weight, out);
    if (timed()) mark(fmt::format("product {} x {}", out.columns, x.columns));
}

void TimedOps::add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) {
    ops_.add_matmul(x, weight, bias, out);
    if (timed()) mark(fmt::format("product {} x {}", out.columns, x.columns));
}

void TimedOps::norm_matmul(const RmsNorm& x, std::span<const WeightMatrix* const> weights, HiddenRows out) {
    ops_.norm_matmul(x, weights, out);
    if (timed()) mark(fmt::format("product {} x {} with its norm", out.columns, x.out.columns));
}

void TimedOps::norm_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                                 Activation activation, HiddenRows out) {
    ops_.norm_gated_matmul(x, gate, up, activation, out);
    if (timed()) mark(fmt::format("gated product 2 x {} x {} with its norm", out.columns, x.out.columns));
}

void TimedOps::rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) {
    ops_.rms_norm(x, weight, eps, place);
    mark("norm");
}

void TimedOps::gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up,
                            Activation activation, HiddenRows out) {
    ops_.gated_matmul(x, gate, up, activation, out);
    if (timed()) mark(fmt::format("gated product 2 x {} x {}", out.columns, x.columns));
}

void TimedOps::add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                            HiddenRows out) {
    ops_.add_adapters(x, adapters, batch, out);
    mark("adapters");
}

void TimedOps::add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                            FloatRows out) {
    ops_.add_adapters(x, adapters, batch, out);
    mark("adapters");
}

void TimedOps::gate(HiddenRows x, Activation activation, HiddenRows out) {
    ops_.gate(x, activation, out);
    mark("adapters");
}

void TimedOps::matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                            HeadColumns to) {
    ops_.matmul_heads(x, from, weight, out, to);
    if (timed()) mark(fmt::format("product of heads {} x {}", weight.rows(), weight.columns()));
}

void TimedOps::copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) {
    ops_.copy_heads(x, from, heads, out, to);
    mark("copy of heads");
}

void TimedOps::sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) {
    ops_.sum_squares(qkv, settings, sums);
    mark("norm");
}

void TimedOps::route(HiddenRows x, const RouterSettings& settings, const BatchView& batch,
                     const Routing& to) {
    ops_.route(x, settings, batch, to);
    mark("router");
}

void TimedOps::gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                             Activation activation, const Routing& routing, HiddenRows out) {
    ops_.gated_experts(x, gate, up, activation, routing, out);
    if (timed())
        mark(fmt::format("gated experts {} x 2 x {} x {}", gate.count(), gate.rows(), gate.columns()));
}

void TimedOps::sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing, FloatRows out) {
    ops_.sum_experts(x, down, routing, out);
    if (timed()) mark(fmt::format("experts {} x {} x {}", down.count(), down.rows(), down.columns()));
}

void TimedOps::attend(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                      const KvLayer& cache, const AttentionSettings& attention_settings, HiddenRows out) {
    ops_.attend(qkv, settings, batch, cache, attention_settings, out);
    mark("attention");
}

void TimedOps::rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                              const KvLayer& cache) {
    ops_.rope_and_store(qkv, settings, batch, cache);
    mark("rope and store");
}

void TimedOps::attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                         const KvLayer& cache, const AttentionSettings& attention, HiddenRows out) {
    ops_.attention(qkv, settings, batch, cache, attention, out);
    mark("attention");
}

void TimedOps::soft_cap(FloatRows x, float cap) {
    ops_.soft_cap(x, cap);
    mark("soft cap");
}

void TimedOps::gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) {
    ops_.gather_rows(x, batch, out);
    mark("gather and join");
}

void TimedOps::gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) {
    ops_.gather_float_rows(x, batch, out);
    mark("gather and join");
}

void TimedOps::store_rows(HiddenRows x, const BatchView& batch, HiddenRows to) {
    ops_.store_rows(x, batch, to);
    mark("gather and join");
}

void TimedOps::recall_rows(HiddenRows from, const BatchView& batch, FloatRows out) {
    ops_.recall_rows(from, batch, out);
    mark("gather and join");
}

void TimedOps::join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) {
    ops_.join_columns(parts, column_begin, out);
    mark("gather and join");
}

void TimedOps::sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                      float* log_probability) {
    ops_.sample(logits, sampling, tokens, log_probability);
    mark("sampling");
}

void TimedOps::top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                                     float* log_probabilities) {
    ops_.top_log_probabilities(logits, n, tokens, log_probabilities);
    mark("top tokens");
}

}  // namespace voltpile::llm
