#include "llm/decoder/feed_forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "llm/decoder/adapter_loader.h"
#include "llm/ops/routing.h"

namespace voltpile::llm {
namespace {

// down(activation(gate x) * (up x))
class GatedProduct final : public FeedForwardPart {
  public:
    // ending: of the tensors' names.
    GatedProduct(const WeightLoader& loader, int layer, const std::string& ending)
        : order_(loader, loader.model().layer_tensor(layer, "ffn_gate" + ending)),
          gate_(loader.matrix(loader.model().layer_tensor(layer, "ffn_gate" + ending))),
          up_(loader.matrix(loader.model().layer_tensor(layer, "ffn_up" + ending))),
          down_(loader.matrix(loader.model().layer_tensor(layer, "ffn_down" + ending))),
          gate_up_adapters_(load_adapters(loader, layer, {"ffn_gate" + ending, "ffn_up" + ending})),
          down_adapters_(load_adapters(loader, layer, {"ffn_down" + ending})),
          activation_(loader.model().config().blocks.activation) {
        WeightMatrix *const both[] = {gate_.get(), up_.get()}, *const down[] = {down_.get()};
        loader.ops().allow_integers(both, true);
        loader.ops().allow_integers(down, false);
    }

    bool adds(const Ops& ops, std::int64_t rows) const override {
        return ops.adds(rows, *down_) && (!down_adapters_ || !ops.batch_invariant());
    }

    void run(Ops& ops, const RmsNorm& x, const BatchView& batch, const FeedForwardBuffers& buffers,
             FloatRows out, PartOutput use) const override {
        const HiddenRows gated{buffers.gated->data(), x.out.rows, gate_->rows()};
        if (gate_up_adapters_ && batch.adapter != nullptr) {
            const HiddenRows both{buffers.gate_up->data(), x.out.rows, gate_->rows() + up_->rows()};
            ops.adapted_gated_matmul(x, *gate_, *up_, activation_, *gate_up_adapters_, batch, both, gated);
        } else {
            ops.norm_gated_matmul(order_.ordered(ops, x, buffers.order), *gate_, *up_, activation_, gated);
        }
        if (use == PartOutput::Added)
            ops.add_matmul(gated, *down_, nullptr, out);
        else if (use == PartOutput::Part && !down_adapters_)
            ops.matmul_part(gated, *down_, JointPart::FeedForward, out);
        else
            ops.matmul(gated, *down_, out);
        if (down_adapters_) ops.add_adapters(gated, *down_adapters_, batch, out);
    }

  private:
    InputOrder order_;  // of gate and up
    std::unique_ptr<WeightMatrix> gate_, up_, down_;
    std::unique_ptr<AdapterWeights> gate_up_adapters_, down_adapters_;  // null: no adapter changes them
    Activation activation_;
};

// The weighted sum over the experts that the router chooses, and over a shared one.
class Mixture final : public FeedForwardPart {
  public:
    Mixture(const WeightLoader& loader, int layer, HostExperts* host)
        : router_(loader.vector_memory(loader.model().layer_tensor(layer, "ffn_gate_inp.weight"))),
          host_(host),
          gate_(load(loader, layer, "ffn_gate")),
          up_(load(loader, layer, "ffn_up")),
          down_(load(loader, layer, "ffn_down")),
          gate_up_adapters_(load_expert_adapters(in_expert_memory(loader), layer, {"ffn_gate", "ffn_up"})),
          down_adapters_(load_expert_adapters(in_expert_memory(loader), layer, {"ffn_down"})),
          activation_(loader.model().config().blocks.activation),
          held_(static_cast<int>(loader.share().experts.size())) {
        const Experts& experts = loader.model().config().experts;
        const auto numbers = [&](std::unique_ptr<OpsMemory>& memory, const char* name) {
            memory = loader.vector_memory(loader.model().layer_tensor(layer, name));
            return static_cast<const float*>(memory->data());
        };
        if (experts.shared_ffn > 0) shared_ = std::make_unique<GatedProduct>(loader, layer, "_shexp.weight");
        if (experts.shared_gate) settings_.shared_gate = numbers(shared_gate_, "ffn_gate_inp_shexp.weight");
        if (experts.choice_bias) settings_.choice_bias = numbers(choice_bias_, "exp_probs_b.bias");
        if (loader.model().config().blocks.expert_biases)
            settings_.bias = numbers(router_bias_, "ffn_gate_inp.bias");
        std::vector<std::string> of_router{"ffn_gate_inp.weight"};
        if (experts.shared_gate) of_router.emplace_back("ffn_gate_inp_shexp.weight");
        router_adapters_ = load_adapters(loader, layer, of_router);
        settings_.weight = static_cast<const float*>(router_->data());
        settings_.experts = static_cast<int>(experts.count);
        settings_.held_begin = static_cast<int>(loader.share().experts.begin);
        settings_.used = static_cast<int>(experts.used);
        settings_.normalized = experts.normalized;
        settings_.sigmoid = experts.sigmoid;
        settings_.groups = static_cast<int>(experts.groups);
        settings_.used_groups = static_cast<int>(experts.used_groups);
        settings_.scale = static_cast<float>(experts.scale);
        if (host_ != nullptr) host_->prepare(expert_layer());
    }

    bool adds(const Ops& ops, std::int64_t rows) const override {
        return !shared_ && host_ == nullptr && ops.adds_experts(rows) &&
               (!down_adapters_ || !ops.batch_invariant());
    }

    void run(Ops& ops, const RmsNorm& x, const BatchView& batch, const FeedForwardBuffers& buffers,
             FloatRows out, PartOutput use) const override {
        Routing routing =
            routing_in(buffers.routing->data(), buffers.rows, held_, settings_.used, shared_ != nullptr);
        routing.all_experts = settings_.experts;
        routing.adds = use == PartOutput::Added;
        const HiddenRows gated{buffers.of_experts->data(), x.out.rows * settings_.used, gate_->rows()};
        RmsNorm done = x;
        done.done = true;
        const bool gated_too =
            !shared_ && host_ == nullptr && !adapted(batch) &&
            ops.norm_route_gated(x, settings_, batch, routing, *gate_, *up_, activation_, gated);
        if (gated_too) return ops.sum_experts(gated, *down_, routing, out);
        ops.norm_route(x, settings_, batch, routing, router_adapters_.get());
        std::function<void()> shared;
        if (shared_) shared = [&] { shared_->run(ops, done, batch, buffers, out, PartOutput::Stored); };
        if (host_ != nullptr) {
            // The shared expert runs on the device while the cores compute the others.
            host_->sum(x.out, expert_layer(), batch, routing, gated, out, shared);
            return;
        }
        if (shared) shared();
        auto* const added = static_cast<float*>(buffers.added ? buffers.added->data() : nullptr);
        run_experts(ops, x.out, expert_layer(), batch, routing, added, gated, out);
    }

  private:
    bool adapted(const BatchView& batch) const {
        return batch.adapter != nullptr && (router_adapters_ || gate_up_adapters_ || down_adapters_);
    }
    ExpertLayer expert_layer() const {
        return {gate_.get(),         up_.get(), down_.get(), activation_, gate_up_adapters_.get(),
                down_adapters_.get()};
    }

    WeightLoader in_expert_memory(const WeightLoader& device) const {
        return device.into(host_ != nullptr ? host_->cores() : device.ops());
    }
    std::unique_ptr<ExpertWeights> load(const WeightLoader& device, int layer, const char* kind) const {
        const WeightLoader loader = in_expert_memory(device);
        std::vector<std::unique_ptr<WeightMatrix>> matrices;
        for (std::size_t e = loader.share().experts.begin; e < loader.share().experts.end; ++e)
            matrices.push_back(
                loader.matrix(loader.model().layer_tensor(layer, fmt::format("{}.{}.weight", kind, e))));
        return loader.join(std::move(matrices), load_bias(loader, layer, kind));
    }

    // Of ranks that have parts of an expert, one adds the bias of its outputs, which all ranks sum.
    static std::unique_ptr<OpsMemory> load_bias(const WeightLoader& loader, int layer,
                                                std::string_view kind) {
        const ModelConfig& config = loader.model().config();
        if (!config.blocks.expert_biases) return nullptr;
        const bool parts = loader.share().experts.size() == static_cast<std::size_t>(config.experts.count);
        if (kind == "ffn_down" && parts && !loader.first_rank()) return nullptr;
        return loader.vector_memory(loader.model().layer_tensor(layer, fmt::format("{}_exps.bias", kind)));
    }

    std::unique_ptr<OpsMemory> router_, router_bias_, shared_gate_, choice_bias_;
    HostExperts* host_;  // null: the experts are on the device
    std::unique_ptr<ExpertWeights> gate_, up_, down_;
    // Null: no adapter changes them.
    std::unique_ptr<AdapterWeights> router_adapters_, gate_up_adapters_, down_adapters_;
    Activation activation_;
    int held_;  // experts on this rank
    std::unique_ptr<GatedProduct> shared_;
    RouterSettings settings_;
};

}  // namespace

FeedForwardBuffers::FeedForwardBuffers(Ops& ops, const ModelConfig& config, const RankShare& share,
                                       std::shared_ptr<OpsMemory> of_order, std::int64_t rows_of_pass,
                                       const AdapterBuffers& for_adapters)
    : rows(rows_of_pass), order(std::move(of_order)) {
    const auto hidden = [&](std::int64_t of_rows, std::size_t columns) {
        return ops.allocate(static_cast<std::size_t>(of_rows) * columns * bytes_of(ops.hidden_element()));
    };
    const Experts& experts = config.experts;
    const std::size_t dense = std::max(share.shared_ffn.size(), share.ffn.size());
    gated = hidden(rows, dense);
    if (for_adapters.gates_apart) gate_up = hidden(rows, 2 * dense);
    if (experts.count == 0) return;
    of_experts = hidden(rows * experts.used, share.expert_ffn.size());
    if (for_adapters.added_to_experts)
        added = ops.allocate(static_cast<std::size_t>(rows * experts.used) * 2 * share.expert_ffn.size() *
                             sizeof(float));
    routing = ops.allocate(
        routing_bytes(rows, static_cast<int>(share.experts.size()), static_cast<int>(experts.used)));
}

std::unique_ptr<FeedForwardPart> load_feed_forward(const WeightLoader& loader, int layer, HostExperts* host) {
    if (has_experts(loader.model().config(), layer)) return std::make_unique<Mixture>(loader, layer, host);
    return std::make_unique<GatedProduct>(loader, layer, ".weight");
}

}  // namespace voltpile::llm
