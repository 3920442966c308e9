// The operations of a decoder. The decoder is written once against this interface. ReferenceOps is the
// definition that tests compare with, CpuOps runs on CPUs, and CudaOps on NVIDIA GPUs. "Device" below means
// whatever runs the operations, the CPU included.
//
// Numbers. The residual stream, sums, partial results of split matrices and logits are fp32. The inputs of
// matrix products are of type hidden_element(): fp32 on CPUs, fp16 on GPUs (V100 has no bf16). Keys and
// values are stored as KvElement says.
//
// Overflow. An activation beyond fp16's range becomes infinite, which trips the sentinel. Ops created with a
// clamp replace it by +-65504, fp16's largest number, wherever they convert activations to fp16, and in all
// keys and values that they store. NaN stays NaN. One exception: the fp16 output of matmul may still be
// infinite, and rope_and_store reads infinities as +-65504.
//
// Shapes. Activations are (rows, columns), row-major and contiguous; a row is one token of one sequence. A
// call takes a ragged batch: any mix of prompt pieces and single tokens.
//
// Order. Calls are enqueued in order and may return before they complete. CudaOps enqueues everything on one
// stream and never waits, so a whole pass can be captured into a CUDA graph. Only download(), synchronize(),
// take_sentinel() and HostCopy::wait() wait.
//
// Determinism. A row's result does not depend on the other rows or their number, unless matmul says so, nor
// on whether its sequence arrives token by token or in pieces of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/collective/peer_area.h"
#include "llm/model/kv_element.h"
#include "llm/model/model_config.h"
#include "llm/ops/adapters.h"
#include "llm/ops/batch.h"
#include "llm/ops/host_experts.h"
#include "llm/ops/joint_sums.h"
#include "llm/ops/operands.h"
#include "llm/ops/ops_memory.h"
#include "llm/ops/sampling.h"
#include "llm/ops/weight_matrix.h"

namespace voltpile::llm {

enum class Element { F32, F16 };
inline std::size_t bytes_of(Element element) {
    return element == Element::F32 ? 4 : 2;
}

// fp32 activations: the residual stream, partial sums, logits.
struct FloatRows {
    float* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

// What an operation adds to rows: `rows` and, to each of them, a bias (columns). Either may be absent; a bias
// only comes with rows.
struct AddedRows : FloatRows {
    AddedRows() = default;
    AddedRows(FloatRows added, const float* with_bias = nullptr) : FloatRows(added), bias(with_bias) {}
    const float* bias = nullptr;  // fp32 in device memory
};

// Activations of hidden_element().
struct HiddenRows {
    void* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

// An RMS norm that an operation may compute together with its own work: add_rms_norm().
struct RmsNorm {
    FloatRows x;
    const float* weight = nullptr;
    float eps = 0;
    SentinelPlace place;
    HiddenRows out;
    AddedRows delta = {};
    bool done = false;  // out has been computed; the rest is not used
};

// The first non-finite sum since the last report.
struct SentinelReport {
    bool tripped = false;
    SentinelPlace place;
    int row = 0;  // of the batch
};

// Recorded calls, see Ops::record().
class Recording {
  public:
    virtual ~Recording() = default;
    // Enqueues the calls again, with the same counts and addresses and with the memory's current contents.
    virtual void replay() = 0;
};

// Rows of bytes in memory.
struct StridedRows {
    std::byte* data = nullptr;
    std::size_t stride = 0;  // bytes from a row to the next
};

// An asynchronous copy to the host, reusable.
class HostCopy {
  public:
    virtual ~HostCopy() = default;
    // Enqueues a copy of at most the bytes passed to make_host_copy(), a multiple of 4. Call wait() before
    // the next start().
    virtual void start(const void* from, std::size_t bytes) = 0;
    // Waits for the copy and returns it; valid until the next start(). May be called from any thread.
    virtual std::span<const std::byte> wait() = 0;
};

class Ops {
  public:
    virtual ~Ops() = default;

    virtual Element hidden_element() const = 0;
    // Whether no result depends on the other rows of a pass or on their number.
    virtual bool batch_invariant() const = 0;
    virtual std::string describe() const = 0;  // "AVX2, 4 threads", "NVIDIA H200"

    // ---- memory

    // Throws DeviceError if the device has not enough memory.
    virtual std::unique_ptr<OpsMemory> allocate(std::size_t bytes) = 0;
    // Allocates host memory for copy_rows().
    virtual std::unique_ptr<OpsMemory> allocate_on_host(std::size_t bytes) = 0;
    // Enqueues a copy of `rows` rows of `bytes` bytes each, between memory of allocate() and of
    // allocate_on_host(), in either direction.
    virtual void copy_rows(const StridedRows& to, const StridedRows& from, std::size_t bytes,
                           std::size_t rows) = 0;
    // The caller may change `from_host` on return.
    virtual void upload(void* to, const void* from_host, std::size_t bytes) = 0;
    // Waits for all work enqueued before it.
    virtual void download(void* to_host, const void* from, std::size_t bytes) = 0;
    virtual std::unique_ptr<HostCopy> make_host_copy(std::size_t most_bytes) = 0;
    virtual void synchronize() = 0;

    // Loads a matrix, or a piece of one, in this device's layout. The columns must be a multiple of the
    // format's block size. If source.stays, the data may be read after the return or used in place; otherwise
    // they have been copied on return.
    virtual std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) = 0;

    // Allows products of exactly these matrices, by matmul or, if gated, gated_matmul and
    // adapted_gated_matmul, to round weights and activations to 8 bits, if there are many rows. GPUs may keep
    // a copy of the matrices for that. Call it once, after loading. Other Ops round as they always do.
    virtual void allow_integers(std::span<WeightMatrix* const> /*weights*/, bool /*gated*/) {}

    // Joins the loaded matrices of a layer's experts, which must have the same shape and format. bias: see
    // ExpertWeights.
    virtual std::unique_ptr<ExpertWeights> join_experts(std::vector<std::unique_ptr<WeightMatrix>> experts,
                                                        std::unique_ptr<OpsMemory> bias = nullptr) = 0;

    // Prepares experts in host memory, for passes of at most this shape. Throws DeviceError if there is too
    // little memory.
    virtual std::unique_ptr<HostExperts> make_host_experts(const HostExpertShape& shape) = 0;

    // Prepares sums over the group of `area` joined with norms, for passes of at most `rows` rows of
    // `columns` numbers, if joint_sums_fit(). area: joint_area_bytes(). Its communicator must outlive the
    // result, and the result all calls of matmul_part() that follow; one at a time. Only on devices whose
    // groups share areas.
    virtual std::unique_ptr<JointSums> make_joint_sums(std::unique_ptr<PeerArea> area, std::int64_t rows,
                                                       std::int64_t columns) = 0;

    // Loads the factors of adapters, as hidden_element(). Ranks are at most most_adapter_rank.
    virtual std::unique_ptr<AdapterWeights> load_adapters(const AdapterSource& source) = 0;
    static constexpr int most_adapter_rank = 256;

    // Records what `enqueue` calls, for replays at little cost to the host: operations below, except
    // take_sentinel, and collectives between GPUs. Recording does not execute them. The caller must have run
    // the same calls once before, so that libraries have completed their initialization. CudaOps captures
    // the calls into a CUDA graph; CPUs keep `enqueue` and call it at each replay. Everything that `enqueue`
    // refers to must outlive the recording.
    virtual std::unique_ptr<Recording> record(std::function<void()> enqueue) = 0;

    // ---- operations of the decoder

    // x[r, :] = scale * the table's row for the token of row r, as fp32; 0 in empty rows and for a drawn
    // token -1. x: (rows, columns of the table).
    virtual void embed(const WeightMatrix& table, const BatchView& batch, float scale, FloatRows x) = 0;

    // x[r, :] += delta[r, :] + bias (each if there is one); out[r, c] = x[r, c] * weight[c] /
    // sqrt(mean_c(x[r, :]^2) + eps), or x[r, c] without a norm. weight: (columns) fp32; nullptr: no norm.
    // Trips the sentinel where the mean is not finite.
    virtual void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                              SentinelPlace place) = 0;

    // x[r, c] = x[r, c] * weight[c] / sqrt(mean_c(x[r, :]^2) + eps), in place. Trips the sentinel where the
    // mean is not finite.
    virtual void rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) = 0;

    // out[r, j] = sum_c x[r, c] * w[j, c], summed in fp32. CpuOps rounds x to 8 bits, with one scale for 32
    // columns, for quantized weights. Several matrices with the same number of columns
    // are concatenated by rows: out has the outputs of weights[0] first, then those of weights[1], and so on.
    // An implementation may choose its algorithm by the number of rows unless it was created as
    // batch-invariant. Within one algorithm, rows do not depend on each other.
    virtual void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) = 0;
    virtual void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) = 0;

    // As matmul. out is this rank's part of a sum, which JointSums::add_rms_norm() of exactly these rows must
    // add next: after attention or after the feed-forward part, in turn. GPUs may send one row to the other
    // ranks at once.
    virtual void matmul_part(HiddenRows x, const WeightMatrix& weight, JointPart /*part*/, FloatRows out) {
        matmul(x, weight, out);
    }

    // out[r, j] += sum_c x[r, c] * w[j, c], and then bias[j]. bias: fp32 in device memory, or nullptr. As
    // exact as matmul and a sum in the next norm; the same bits if batch_invariant().
    virtual void add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) = 0;
    // Whether that is faster for so many rows, and whether Routing::adds is: to the same bits if
    // batch_invariant(), otherwise it may round differently.
    virtual bool adds(std::int64_t rows, const WeightMatrix& /*weight*/) const {
        return rows <= most_added_rows;
    }
    virtual bool adds_experts(std::int64_t rows) const { return rows <= most_added_rows; }
    static constexpr int most_added_rows = 4;

    // out[r, j] = activation(g) * u (see Activation), with g = sum_c x[r, c] * gate[j, c] and u = sum_c x[r,
    // c] * up[j, c].
    virtual void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up,
                              Activation activation, HiddenRows out) = 0;

    // A norm, unless it is done, and then matmul or gated_matmul of x.out. GPUs may do both in one kernel. As
    // in matmul, the number of rows may choose the algorithm of the norm.
    virtual void norm_matmul(const RmsNorm& x, std::span<const WeightMatrix* const> weights, HiddenRows out) {
        matmul(normed(x), weights, out);
    }
    virtual void norm_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                                   Activation activation, HiddenRows out) {
        gated_matmul(normed(x), gate, up, activation, out);
    }

    // out[r, j] += sum_k b[j, k] * sum_c a[k, c] * x[r, c] with the factors of the row's adapter
    // (BatchView::adapter), for all outputs j of the matrices one after the other. Rows without an adapter,
    // or with one that leaves the matrices as they are, keep their values. out.columns may be larger than the
    // number of outputs. A row does not depend on the other rows.
    virtual void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                              HiddenRows out) = 0;
    virtual void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                              FloatRows out) = 0;

    // norm_gated_matmul with the products of adapters for gate and up added to g and u, as by add_adapters.
    // batch.adapter is not null. both: memory for (rows, 2 * rows of gate), unspecified afterwards.
    virtual void adapted_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                                      Activation activation, const AdapterWeights& adapters,
                                      const BatchView& batch, HiddenRows both, HiddenRows out) = 0;

    // out[r, to.begin + h * to.stride + j] = sum_c x[r, from.begin + h * from.stride + c] * w[h * to.count +
    // j, c] for each head h: a product for each head. w: F16, (heads * to.count, from.count). A row does not
    // depend on the other rows or their number. x and out are different memory.
    virtual void matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                              HeadColumns to) = 0;
    // out[r, to.begin + h * to.stride + i] = x[r, from.begin + h * from.stride + i] for i < from.count, which
    // is to.count, and each head h.
    virtual void copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) = 0;
    // out[r, j] = x[r, order[j]]. order: in device memory. x and out are different memory.
    virtual void gather_columns(HiddenRows x, const std::int32_t* order, HiddenRows out) = 0;

    // sums[r, 0] and sums[r, 1] = the sums of squares of the queries and of the keys of a row. qkv: as for
    // rope_and_store. sums: (rows, 2).
    virtual void sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) = 0;

    // Chooses the experts of each row by scores s[e] of logits l[e] = sum_c x[r, c] * weight[e, c] + bias[e]
    // in fp32: s = softmax(l) over all experts, or s[e] = 1 / (1 + exp(-l[e])). The best experts have the
    // `used` largest s[e] + choice_bias[e], of equal ones the lower, from the used_groups best groups. A
    // group is as good as its best expert by softmax, or as the sum of its two best by sigmoid. The weights
    // are scale * s[e], with s divided by its sum over the chosen experts if normalized (a sigmoid router
    // adds 1e-20 to the sum); that of the shared expert is 1 / (1 + exp(-sum_c x[r, c] * shared_gate[c])).
    // Empty rows have no experts. adapters: whose products are added to the logits and, if there is a
    // shared_gate, to its product, as by add_adapters; nullptr: none.
    virtual void route(HiddenRows x, const RouterSettings& settings, const BatchView& batch,
                       const Routing& to, const AdapterWeights* adapters) = 0;
    // A norm, unless it is done, and then route of x.out. GPUs may do both in one kernel.
    virtual void norm_route(const RmsNorm& x, const RouterSettings& settings, const BatchView& batch,
                            const Routing& to, const AdapterWeights* adapters) {
        route(normed(x), settings, batch, to, adapters);
    }

    // The gated products of each sorted pair i of a row r and an expert e: out[i, j] = activation(g) * u as
    // in gated_matmul, with x[r, :], the expert's matrices, and their biases added to g and u. added: what is
    // added further, fp32 (rows * used, 2 * rows of the matrices), to g from column j and to u from column j
    // + rows of the matrices; nullptr: nothing. out: (rows * used, rows of the matrices); rows beyond the
    // last pair keep their values. Computes only experts that some row uses. As in matmul, the number of rows
    // may choose the algorithm, here and in sum_experts. GPUs need one format for gate and up.
    virtual void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                               Activation activation, const Routing& routing, const float* added,
                               HiddenRows out) = 0;

    // norm_route without adapters, and then gated_experts of x.out without anything added. Returns false, and
    // does nothing, if that is no faster than one after the other; for few rows it is on GPUs whose products
    // choose the experts.
    virtual bool norm_route_gated(const RmsNorm& /*x*/, const RouterSettings& /*settings*/,
                                  const BatchView& /*batch*/, const Routing& /*to*/,
                                  const ExpertWeights& /*gate*/, const ExpertWeights& /*up*/,
                                  Activation /*activation*/, HiddenRows /*out*/) {
        return false;
    }

    // out[r, j] = sum_k weight[r, k] * (sum_c x[place[r, k], c] * w[e][j, c] + bias[e, j]), e = expert[r, k],
    // in the order of k. If routing.shared, adds shared[r] times the former out[r, j]; if routing.adds, adds
    // all of it to the former out[r, j]. x: as gated_experts or norm_route_gated leaves it, which has been
    // called with the same routing.
    virtual void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing,
                             FloatRows out) = 0;

    // The two below multiply with the factors of adapters for experts. The adapters were loaded as one for
    // each adapter of the batch and each expert of the rank: those of adapter n and expert e are number n *
    // routing.experts + e. batch.adapter is not null. A row does not depend on the other rows.

    // The products of each sorted pair i of a row r and an expert e: out[i, j] = sum_k b[j, k] * sum_c a[k,
    // c] * x[r, c], for all outputs j of the matrices one after the other; 0 for a row without an adapter.
    // out: (rows * used, outputs); rows beyond the last pair keep their values.
    virtual void adapt_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                               const Routing& routing, FloatRows out) = 0;
    // out[r, j] += sum_k weight[r, k] * sum_i b[j, i] * sum_c a[i, c] * x[place[r, k], c], with the factors
    // for expert[r, k], in the order of k. x: as for sum_experts.
    virtual void add_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                     const Routing& routing, FloatRows out) = 0;

    // Applies bias, norm of heads, RoPE and, for a cache that rotates heads (see KvElement), its rotation.
    // qkv: (rows, (heads + 2 * kv_heads) * head_dim): queries, then keys, then values. Changes the queries in
    // place and stores keys and values in the cache. Where the cache's values are its keys, those of qkv are
    // ignored.
    virtual void rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                                const KvLayer& cache) = 0;

    // out[r, h, :] = sum_p softmax_p(capped(scale * q[r, h, :] . k[p, h', :])) v[p, h', :] (see
    // AttentionSettings for sinks), with
    // h' = h / (heads / kv_heads). p runs over the row's sequence up to and including the row's position,
    // from 0, or from max(0, position - window + 1) if window > 0. capped(s) = soft_cap * tanh(s / soft_cap)
    // if soft_cap > 0, otherwise s. qkv: as rope_and_store leaves it. Where the cache rotates heads, q, k and
    // v are rotated, and the sum is rotated back. out: (rows, heads * head_dim), 0 in empty rows; out.columns
    // is the row stride and may be larger, and the columns beyond heads * head_dim keep their values. Where
    // the cache's values are its keys, the first rope_dims columns of each head of out are unspecified.
    virtual void attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                           const KvLayer& cache, const AttentionSettings& attention, HiddenRows out) = 0;

    // rope_and_store, then attention, in one kernel where every sequence has one row on a GPU. The queries in
    // qkv are unspecified afterwards.
    virtual void attend(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                        const KvLayer& cache, const AttentionSettings& attention_settings, HiddenRows out) {
        rope_and_store(qkv, settings, batch, cache);
        attention(qkv, settings, batch, cache, attention_settings, out);
    }

    // x[r, c] = cap * tanh(x[r, c] / cap), in place.
    virtual void soft_cap(FloatRows x, float cap) = 0;

    // out[i, :] = x[batch.logit_row[i], :]. Selects the rows whose logits are computed.
    virtual void gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) = 0;
    // The same for fp32 rows: the residual stream before the last norm.
    virtual void gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) = 0;

    // to[page * kv_page_tokens + position % kv_page_tokens, :] = x[r, :] for each row r that is not empty,
    // with the page of its position as in the KV cache.
    virtual void store_rows(HiddenRows x, const BatchView& batch, HiddenRows to) = 0;
    // out[r, :] = from[batch.hidden_row[r], :], as fp32.
    virtual void recall_rows(HiddenRows from, const BatchView& batch, FloatRows out) = 0;

    // Joins rows whose columns are distributed over ranks. Piece k fills the columns column_begin[k] to
    // column_begin[k + 1] - 1 of out. It begins at row k * out.rows of `parts` and is contiguous with its own
    // number of columns, at most parts.columns.
    virtual void join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) = 0;

    // Draws one token from each row of logits, see sampling.h. tokens: (rows). log_probability: (rows), or
    // nullptr: log softmax of the unmodified logits at the token, before penalties, bias and temperature.
    virtual void sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                        float* log_probability) = 0;

    // Finds the n most probable tokens of each row with their log softmax, in descending order; among equal
    // logits the lower token comes first. tokens, log_probabilities: (rows, n). n: 1 to most_top, at most the
    // number of columns. A row that sample() cannot draw from gives -1 and NaN.
    virtual void top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                                       float* log_probabilities) = 0;
    static constexpr int most_top = 20;

    // Returns and resets the sentinel. Waits for all enqueued work.
    virtual SentinelReport take_sentinel() = 0;

    // Returns the rows of a norm, which it computes unless that is done.
    HiddenRows normed(const RmsNorm& x) {
        if (!x.done) add_rms_norm(x.x, x.delta, x.weight, x.eps, x.out, x.place);
        return x.out;
    }
};

}  // namespace voltpile::llm
