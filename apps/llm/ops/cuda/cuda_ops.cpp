#include "llm/ops/cuda/cuda_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "comm/collective/graph.h"
#include "device/buffer.h"
#include "device/check.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/row_copies.h"
#include "device/slab_memory.h"
#include "llm/ops/cuda/adapter_product.h"
#include "llm/ops/cuda/attention.h"
#include "llm/ops/cuda/copies.h"
#include "llm/ops/cuda/expert_product.h"
#include "llm/ops/cuda/heads.h"
#include "llm/ops/cuda/host_experts.h"
#include "llm/ops/cuda/joint_sums.h"
#include "llm/ops/cuda/latent_attention.h"
#include "llm/ops/cuda/loader.h"
#include "llm/ops/cuda/product.h"
#include "llm/ops/cuda/row_ops.h"
#include "llm/ops/cuda/rows.h"
#include "llm/ops/cuda/sampling.h"
#include "llm/ops/cuda/sm90/expanded_cache.h"

namespace voltpile::llm {

namespace {

class GpuMemory final : public OpsMemory {
  public:
    GpuMemory(SlabMemory& slabs, std::size_t bytes)
        : piece_(slabs.allocate(std::max<std::size_t>(bytes, 1))) {
        data_ = piece_.data();
        bytes_ = bytes;
    }

  private:
    SlabMemory::Piece piece_;
};

class PinnedMemory final : public OpsMemory {
  public:
    explicit PinnedMemory(std::size_t bytes) {
        bytes_ = bytes;
        data_ = allocate_pinned(std::max<std::size_t>(bytes, 1));
    }
    ~PinnedMemory() override { release_pinned(data_); }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
};

class GpuRecording final : public Recording {
  public:
    GpuRecording(const Stream& stream, const std::function<void()>& enqueue)
        : stream_(stream), graph_(stream, enqueue) {}
    void replay() override { graph_.launch(stream_); }

  private:
    const Stream& stream_;
    CollectiveGraph graph_;
};

class CudaOps final : public CudaRowOps {
  public:
    CudaOps(int device, const CudaOpsSettings& settings)
        : info_((use_device(device), device_info(device))),
          batch_invariant_(settings.batch_invariant),
          limit_(half_limit(settings.clamp)),
          cores_(settings.cores),
          room_for_integers_(settings.integer_bytes),
          scratch_(settings.scratch_bytes),
          sentinel_(1),
          sentinel_seen_(1),
          product_(stream_, {scratch_.data(), scratch_.size()}, info_, settings.batch_invariant, limit_),
          expert_product_(stream_, {scratch_.data(), scratch_.size()}, info_.multiprocessors,
                          settings.batch_invariant, limit_) {
        matrices_.expect(settings.matrix_bytes);
        integer_copies_.expect(settings.integer_bytes);
        clear_sentinel();
    }

    const Stream& stream() const override { return stream_; }
    Element hidden_element() const override { return Element::F16; }
    bool batch_invariant() const override { return batch_invariant_; }
    std::string describe() const override {
        return info_.name + (batch_invariant_ ? ", batch-invariant" : "");
    }

    std::unique_ptr<OpsMemory> allocate(std::size_t bytes) override {
        return std::make_unique<GpuMemory>(buffers_, bytes);
    }
    std::unique_ptr<OpsMemory> allocate_on_host(std::size_t bytes) override {
        return std::make_unique<PinnedMemory>(bytes);
    }
    void copy_rows(const StridedRows& to, const StridedRows& from, std::size_t bytes,
                   std::size_t rows) override {
        voltpile::copy_rows(to.data, to.stride, from.data, from.stride, bytes, rows, stream_);
    }
    void upload(void* to, const void* from_host, std::size_t bytes) override {
        copies_.upload(to, from_host, bytes, stream_);
    }
    void download(void* to_host, const void* from, std::size_t bytes) override {
        copies_.download(to_host, from, bytes, stream_);
    }
    std::unique_ptr<HostCopy> make_host_copy(std::size_t most_bytes) override {
        return std::make_unique<PinnedHostCopy>(most_bytes, stream_);
    }
    void synchronize() override { stream_.synchronize(); }
    std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) override {
        return load_cuda_matrix(source, matrices_, staging_, {scratch_.data(), scratch_.size()}, stream_);
    }
    void allow_integers(std::span<WeightMatrix* const> weights, bool gated) override {
        product_.allow_integers(weights, gated, integer_copies_, room_for_integers_);
    }
    std::unique_ptr<ExpertWeights> join_experts(std::vector<std::unique_ptr<WeightMatrix>> experts,
                                                std::unique_ptr<OpsMemory> bias) override {
        return std::make_unique<CudaExperts>(std::move(experts), std::move(bias), buffers_, copies_, stream_);
    }
    std::unique_ptr<HostExperts> make_host_experts(const HostExpertShape& shape) override {
        constexpr std::size_t most_threads = 8;  // that read weights as fast as a link takes them
        std::unique_ptr<StreamedExperts> streamed;
        // Without batch invariance only: passes of other sizes run on cores.
        if (shape.streamed_rows > 0 && !batch_invariant_)
            streamed = std::make_unique<StreamedExperts>(buffers_, staging_, copies_,
                                                         std::span(scratch_.data(), scratch_.size()),
                                                         std::min(cores_.size(), most_threads), stream_);
        return std::make_unique<CudaHostExperts>(shape, cores_, expert_product_, std::move(streamed),
                                                 stream_);
    }
    std::unique_ptr<JointSums> make_joint_sums(std::unique_ptr<PeerArea> area, std::int64_t rows,
                                               std::int64_t columns) override {
        auto sums = std::make_unique<CudaJointSums>(std::move(area), rows, columns, limit_, sentinel_.data(),
                                                    stream_);
        joint_sums_ = sums.get();
        return sums;
    }
    std::unique_ptr<AdapterWeights> load_adapters(const AdapterSource& source) override {
        return std::make_unique<CudaAdapters>(source, matrices_, copies_, limit_, stream_);
    }
    std::unique_ptr<Recording> record(std::function<void()> enqueue) override {
        return std::make_unique<GpuRecording>(stream_, enqueue);
    }

    void embed(const WeightMatrix& table, const BatchView& batch, float scale, FloatRows x) override {
        launch_embed(cuda(table).planes(), batch, scale, static_cast<int>(x.columns), x.data, stream_);
    }
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                      SentinelPlace place) override {
        launch_add_rms_norm(x.data, delta.data, delta.bias, weight, eps, out.data, static_cast<int>(x.rows),
                            static_cast<int>(x.columns), limit_, sentinel_place(place), sentinel_.data(),
                            stream_);
    }
    void rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) override {
        launch_rms_norm(x.data, weight, eps, static_cast<int>(x.rows), static_cast<int>(x.columns),
                        sentinel_place(place), sentinel_.data(), stream_);
    }
    void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) override {
        product_.run(x, weights, out.data, false, static_cast<int>(out.columns));
    }
    void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) override {
        const WeightMatrix* const one[] = {&weight};
        product_.run(x, one, out.data, true, static_cast<int>(out.columns));
    }
    void matmul_part(HiddenRows x, const WeightMatrix& weight, JointPart part, FloatRows out) override {
        if (joint_sums_ == nullptr || !product_.sends(x)) return matmul(x, weight, out);
        const WeightMatrix* const one[] = {&weight};
        product_.run(x, one, out.data, true, static_cast<int>(out.columns), {}, joint_sums_->send_next(part));
    }
    bool adds(std::int64_t rows, const WeightMatrix& weight) const override {
        return product_.adds(rows, cuda(weight));
    }
    void add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) override {
        product_.add(x, cuda(weight), bias, out.data, static_cast<int>(out.columns));
    }
    void norm_matmul(const RmsNorm& x, std::span<const WeightMatrix* const> weights,
                     HiddenRows out) override {
        if (!norms_late(x, weights, false)) return Ops::norm_matmul(x, weights, out);
        product_.run(x.out, weights, out.data, false, static_cast<int>(out.columns), norm_args(x));
    }
    void norm_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                           Activation activation, HiddenRows out) override {
        const WeightMatrix* const both[] = {&gate, &up};
        if (!norms_late(x, both, true)) return Ops::norm_gated_matmul(x, gate, up, activation, out);
        product_.run_gated(x.out, cuda(gate), cuda(up), activation, out.data, static_cast<int>(out.columns),
                           norm_args(x));
    }
    void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up, Activation activation,
                      HiddenRows out) override {
        product_.run_gated(x, cuda(gate), cuda(up), activation, out.data, static_cast<int>(out.columns));
    }
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      HiddenRows out) override {
        add_cuda_adapters(x, adapters, batch, out.data, false, static_cast<int>(out.columns),
                          {scratch_.data(), scratch_.size()}, stream_);
    }
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      FloatRows out) override {
        add_cuda_adapters(x, adapters, batch, out.data, true, static_cast<int>(out.columns),
                          {scratch_.data(), scratch_.size()}, stream_);
    }
    void adapted_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                              Activation activation, const AdapterWeights& adapters, const BatchView& batch,
                              HiddenRows both, HiddenRows out) override {
        const WeightMatrix* const weights[] = {&gate, &up};
        const bool woven = product_.weaves(x.out, weights);
        const bool late = norms_late(x, weights, woven);
        const HiddenRows normed = late ? x.out : this->normed(x);
        const NormArgs norm = late ? norm_args(x) : NormArgs{};
        if (woven)
            product_.run_woven(normed, cuda(gate), cuda(up), both.data, norm);
        else
            product_.run(normed, weights, both.data, false, static_cast<int>(both.columns), norm);
        gate_cuda_adapters(normed, adapters, batch,
                           {both.data, woven, static_cast<int>(out.columns), activation, limit_}, out,
                           {scratch_.data(), scratch_.size()}, stream_);
    }
    void matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                      HeadColumns to) override {
        launch_matmul_heads({x.data, static_cast<int>(x.columns), from}, cuda(weight).planes(),
                            static_cast<int>(weight.rows() / to.count),
                            {out.data, static_cast<int>(out.columns), to}, static_cast<int>(x.rows), limit_,
                            stream_);
    }
    void copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) override {
        launch_copy_heads({x.data, static_cast<int>(x.columns), from}, heads,
                          {out.data, static_cast<int>(out.columns), to}, static_cast<int>(x.rows), stream_);
    }
    void sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) override {
        launch_sum_squares(qkv.data, settings, static_cast<int>(qkv.rows), static_cast<int>(qkv.columns),
                           limit_, sums.data, stream_);
    }
    void route(HiddenRows x, const RouterSettings& settings, const BatchView& batch, const Routing& to,
               const AdapterWeights* adapters) override {
        expert_product_.route(x, settings, batch, to, adapters, {});
    }
    void norm_route(const RmsNorm& x, const RouterSettings& settings, const BatchView& batch,
                    const Routing& to, const AdapterWeights* adapters) override {
        if (!norms_in_router(x, batch, adapters)) return Ops::norm_route(x, settings, batch, to, adapters);
        expert_product_.route(x.out, settings, batch, to, adapters, norm_args(x));
    }
    bool norm_route_gated(const RmsNorm& x, const RouterSettings& settings, const BatchView& batch,
                          const Routing& to, const ExpertWeights& gate, const ExpertWeights& up,
                          Activation activation, HiddenRows out) override {
        return norms_in_router(x, batch, nullptr) &&
               expert_product_.choose_and_run_gated(x.out, norm_args(x), settings, batch, to,
                                                    cuda(gate).matrices(), cuda(up).matrices(), activation,
                                                    out);
    }
    void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                       Activation activation, const Routing& routing, const float* added,
                       HiddenRows out) override {
        expert_product_.run_gated(x, cuda(gate).matrices(), cuda(up).matrices(), activation, routing, added,
                                  out);
    }
    void adapt_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                       const Routing& routing, FloatRows out) override {
        adapt_cuda_experts(x, adapters, batch, routing, out, {scratch_.data(), scratch_.size()}, stream_);
    }
    void add_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                             const Routing& routing, FloatRows out) override {
        add_cuda_expert_adapters(x, adapters, batch, routing, out, {scratch_.data(), scratch_.size()},
                                 stream_);
    }
    void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing,
                     FloatRows out) override {
        expert_product_.sum(x, cuda(down).matrices(), routing, out);
    }
    void rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                        const KvLayer& cache) override {
        launch_rope_and_store(qkv.data, settings, batch, cache, limit_, stream_);
    }
    void attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                   const AttentionSettings& attention, HiddenRows out) override;
    void attend(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                const AttentionSettings& attention_settings, HiddenRows out) override;
    void sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                float* log_probability) override;
    void top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                               float* log_probabilities) override;
    SentinelReport take_sentinel() override;

  private:
    bool norms_in_router(const RmsNorm& x, const BatchView& batch, const AdapterWeights* adapters) const {
        return !x.done && x.weight != nullptr && x.delta.data == nullptr &&
               expert_product_.norms_in_router(x.out, batch, adapters);
    }
    // Whether a product of these matrices computes the norm.
    bool norms_late(const RmsNorm& x, std::span<const WeightMatrix* const> weights, bool gated) const {
        return !x.done && x.weight != nullptr &&
               product_.takes_norm(x.out, weights, gated, x.delta.data != nullptr);
    }
    NormArgs norm_args(const RmsNorm& x) {
        return {x.x.data,        x.delta.data, x.delta.bias, x.weight,
                x.eps,           x.out.data,   limit_,       sentinel_place(x.place),
                sentinel_.data()};
    }
    AttentionArgs attention_args(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                                 const KvLayer& cache, const AttentionSettings& attention, HiddenRows out);
    void check_attention(const AttentionArgs& args) const;
    void prompt_attention(const AttentionArgs& args);
    void clear_sentinel() {
        cuda_check(cudaMemsetAsync(sentinel_.data(), 0xff, sentinel_.bytes(), stream_.get()),
                   "clearing the sentinel");
        static_assert(sentinel_clear == ~std::uint64_t{0});
    }

    DeviceInfo info_;
    bool batch_invariant_;
    float limit_;
    std::vector<int> cores_;
    Stream stream_;
    SlabMemory matrices_;
    SlabMemory integer_copies_;
    std::size_t room_for_integers_;
    SlabMemory buffers_;  // separate from matrices_: network libraries may register whole allocations
    DeviceBuffer<std::uint8_t> scratch_;
    DeviceBuffer<std::uint64_t> sentinel_;
    PinnedBuffer<std::uint64_t> sentinel_seen_;
    LoadStaging staging_;
    PinnedCopies copies_;
    CudaJointSums* joint_sums_ = nullptr;  // the last one made: not owned
    CudaProduct product_;
    CudaExpertProduct expert_product_;
};

void CudaOps::prompt_attention(const AttentionArgs& args) {
#if VOLTPILE_SM90
    if (info_.compute_capability == 90 && warpgroups_take(args)) {
        const bool expands = args.cache.element != KvElement::F16;
        const std::size_t bytes = expands ? expanded_cache_bytes(args) : 0;
        if (bytes <= scratch_.size() && !(expands && args.cache.keys == args.cache.values)) {
            AttentionArgs halves = expands ? expand_cache(args, scratch_.data(), stream_) : args;
            if (batch_invariant_) return launch_invariant_attention(halves, stream_);
            halves.scratch += bytes / sizeof(float);
            return launch_warpgroup_attention(halves, scratch_.size() - bytes, info_.multiprocessors,
                                              stream_);
        }
    }
#endif
    launch_prompt_attention(args, scratch_.size(), stream_);
}

AttentionArgs CudaOps::attention_args(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                                      const KvLayer& cache, const AttentionSettings& attention,
                                      HiddenRows out) {
    AttentionArgs args;
    args.qkv = qkv.data;
    args.out = out.data;
    args.cache = cache;
    args.out_columns = static_cast<int>(out.columns);
    args.heads = settings.heads;
    args.kv_heads = settings.kv_heads;
    args.head_dim = settings.head_dim;
    args.scale = attention.scale;
    args.soft_cap = attention.soft_cap;
    args.sinks = attention.sinks;
    args.limit = limit_;
    args.window = attention.window;
    args.batch = batch;
    args.scratch = reinterpret_cast<float*>(scratch_.data());
    return args;
}

void CudaOps::check_attention(const AttentionArgs& args) const {
    if (decode_scratch_bytes_per_sequence(args) > scratch_.size()) {
        throw DeviceError(fmt::format("attention over {} tokens needs more than the {} MiB of scratch memory",
                                      args.batch.max_context, scratch_.size() >> 20));
    }
}

void CudaOps::attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                        const KvLayer& cache, const AttentionSettings& attention, HiddenRows out) {
    if (batch.rows == 0) return;
    AttentionArgs args = attention_args(qkv, settings, batch, cache, attention, out);
    int rotation = rotation_of(settings, cache);
    if (!batch_invariant_ && takes_latent_attention(args, settings.rope_dims)) {
        launch_latent_attention(args, scratch_.size(), info_.multiprocessors, stream_);
    } else if (!tensor_cores_take(args.head_dim)) {
        launch_plain_attention(args, stream_);
    } else {
        check_attention(args);
        if (batch.max_new > 1)
            prompt_attention(args);
        else if (args.head_dim <= most_rotated_dim)
            args.rotation = std::exchange(rotation, 1);
        launch_decode_attention(args, nullptr, scratch_.size(), stream_);
    }
    launch_rotate_heads(args.out, batch.rows, args.out_columns, args.heads, args.head_dim, rotation, limit_,
                        stream_);
}

void CudaOps::attend(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                     const KvLayer& cache, const AttentionSettings& attention_settings, HiddenRows out) {
    if (batch.rows == 0) return;
    const AttentionArgs args = attention_args(qkv, settings, batch, cache, attention_settings, out);
    if (!tensor_cores_take(settings.head_dim) || !prepares_heads(args, settings))
        return Ops::attend(qkv, settings, batch, cache, attention_settings, out);
    check_attention(args);
    launch_decode_attention(args, &settings, scratch_.size(), stream_);
}

void CudaOps::sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                     float* log_probability) {
    const auto fit =
        static_cast<std::int64_t>(scratch_.size() / sampling_scratch_bytes_per_row(logits.columns));
    if (fit == 0)
        throw DeviceError(fmt::format("sampling from {} logits needs more scratch memory", logits.columns));
    for (std::int64_t row = 0; row < logits.rows; row += fit) {
        launch_sample(logits.data, static_cast<int>(row), static_cast<int>(std::min(fit, logits.rows - row)),
                      static_cast<int>(logits.columns), sampling, tokens, log_probability, scratch_.data(),
                      stream_);
    }
}

void CudaOps::top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens, float* log_probabilities) {
    const auto fit = static_cast<std::int64_t>(scratch_.size() / top_scratch_bytes_per_row(n));
    for (std::int64_t row = 0; row < logits.rows; row += fit) {
        launch_top(logits.data + row * logits.columns, static_cast<int>(std::min(fit, logits.rows - row)),
                   static_cast<int>(logits.columns), n, tokens + row * n, log_probabilities + row * n,
                   scratch_.data(), stream_);
    }
}

SentinelReport CudaOps::take_sentinel() {
    copy_to_host(sentinel_seen_.data(), sentinel_.data(), sentinel_.bytes(), stream_);
    clear_sentinel();
    stream_.synchronize();
    const std::uint64_t word = *sentinel_seen_.data();
    if (word == sentinel_clear) return {};
    return {true,
            {static_cast<int>(word >> 48), static_cast<int>(word >> 32 & 0xffff)},
            static_cast<int>(word & 0xffffffff)};
}

}  // namespace

std::unique_ptr<GpuOps> make_cuda_ops(int device, const CudaOpsSettings& settings) {
    return std::make_unique<CudaOps>(device, settings);
}

}  // namespace voltpile::llm
