// The operations of a decoder, on whatever processor an implementation stands for. The decoder is written
// once over this interface; ReferenceOps is the plain definition, CpuOps the fast one for processors, CudaOps
// the one for GPUs.
//
// Numbers. The residual stream, sums, partial results of split matrices and logits are fp32 everywhere. What
// goes into a matrix product is of hidden_element(): fp32 on processors, fp16 on GPUs (V100 has no bf16).
// Keys and values are fp16, or int8 with a scale (KvElement).
//
// Overflow. What fp16 cannot hold becomes infinite, and so trips the sentinel. Ops made with a clamp put
// fp16's largest number, +-65504, in its place, wherever activations become fp16 and in all keys and values
// that go into the cache; NaN stays. Only what matmul leaves as fp16 may be infinite there: rope_and_store
// reads that as the largest number.
//
// Shapes. Matrices of activations are (rows, columns), row-major, without gaps; a row is one token of one
// sequence. One call takes a ragged batch: prompt pieces of some sequences and single tokens of others, in
// any mixture.
//
// Order. Calls are enqueued in order and may return before they are done (CudaOps: all on one stream, nothing
// waits, so that a whole pass can be captured into a graph). Only download(), synchronize() and
// HostCopy::wait() wait.
//
// Determinism. The result of a row depends on neither the other rows nor their number, except where matmul
// says so; nor on whether its sequence comes row by row or in pieces of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "llm/model/kv_element.h"
#include "llm/model/model_config.h"
#include "llm/ops/batch.h"
#include "llm/ops/sampling.h"
#include "llm/ops/weight_matrix.h"

namespace voltpile::llm {

enum class Element { F32, F16 };
inline std::size_t bytes_of(Element element) {
    return element == Element::F32 ? 4 : 2;
}

// Memory of the processor that the operations run on: owned, contents undefined at first.
class OpsMemory {
  public:
    virtual ~OpsMemory() = default;
    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

  protected:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// fp32 activations: the residual stream, partial sums, logits.
struct FloatRows {
    float* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

// Activations of hidden_element().
struct HiddenRows {
    void* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

// Where a sum was not finite, for the message about it: the first such place of a pass is kept.
struct SentinelPlace {
    int layer = 0;
    int operation = 0;  // index into the decoder's names of operations
};
struct SentinelReport {
    bool tripped = false;
    SentinelPlace place;
    int row = 0;  // of the batch
};

// What happens to queries, keys and values between their product and the attention. Any pointer may be
// nullptr: not there. fp32, in the processor's memory.
struct QkvSettings {
    int heads = 0;     // of this rank
    int kv_heads = 0;  // of this rank
    int head_dim = 0;
    const float* q_bias = nullptr;  // (heads * head_dim)
    const float* k_bias = nullptr;  // (kv_heads * head_dim)
    const float* v_bias = nullptr;
    const float* q_norm = nullptr;  // (head_dim): RMS norm of each head before RoPE (Qwen 3)
    const float* k_norm = nullptr;
    float norm_eps = 0;
    RopeStyle rope_style = RopeStyle::HalfSplit;  // pairs (2i, 2i + 1), or (i, i + rope_dims / 2)
    int rope_dims = 0;                            // the first of each head's, even; the rest pass unchanged
    const float* rope_frequencies = nullptr;      // (rope_dims / 2): radians a position, scaling applied; the
                                                  // angle, position * frequency, is rounded to fp32
    float rope_magnitude = 1;                     // of cos and sin (YaRN)
};

// One layer's keys and values, in pages of kv_page_tokens tokens. keys, values: (pages, kv_heads,
// kv_page_tokens, head_dim); scales of an I8 cache: fp32 (pages, kv_heads, kv_page_tokens). A sequence's
// token at position p is in page page_table[p / kv_page_tokens] at p % kv_page_tokens.
struct KvLayer {
    void* keys = nullptr;
    void* values = nullptr;
    KvElement element = KvElement::F16;
    float* key_scales = nullptr;
    float* value_scales = nullptr;
};

// Calls that were recorded, see Ops::record().
class Recording {
  public:
    virtual ~Recording() = default;
    // Enqueues the calls again: the same numbers and addresses, and what lies there by then.
    virtual void replay() = 0;
};

// Copies to the host, one after the other, without a wait in between.
class HostCopy {
  public:
    virtual ~HostCopy() = default;
    // Enqueued: at most the bytes that this was made for. Not before the last copy has been waited for.
    virtual void start(const void* from, std::size_t bytes) = 0;
    // Waits for it: valid until the next start(). From any thread.
    virtual std::span<const std::byte> wait() = 0;
};

class Ops {
  public:
    virtual ~Ops() = default;

    virtual Element hidden_element() const = 0;
    virtual std::string describe() const = 0;  // "AVX2, 4 threads", "NVIDIA H200"

    // ---- memory. DeviceError if there is not enough.
    virtual std::unique_ptr<OpsMemory> allocate(std::size_t bytes) = 0;
    virtual void upload(void* to, const void* from_host,
                        std::size_t bytes) = 0;  // `from_host` may change on return
    virtual void download(void* to_host, const void* from, std::size_t bytes) = 0;  // waits
    virtual std::unique_ptr<HostCopy> make_host_copy(std::size_t most_bytes) = 0;
    virtual void synchronize() = 0;

    // Takes over a piece of a matrix (rows and columns are the piece's; columns a multiple of the format's
    // block) in this processor's own layout. source: row r begins at data + r * row_bytes. If source.stays it
    // may return before it is done with the data, or use them in place; if not, it has copied them on return.
    virtual std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) = 0;

    // What `enqueue` calls of the operations below (but take_sentinel) and of collectives between GPUs, to be
    // replayed at little cost to the host. It is not run by this; it has been run once before, in the same
    // way, so that all that libraries make at first use is there. GPUs keep its enqueued work as a graph;
    // processors keep `enqueue` and call it at each replay. What it points to outlives the recording.
    virtual std::unique_ptr<Recording> record(std::function<void()> enqueue) = 0;

    // ---- the decoder's operations.

    // x[r, :] = row batch.token[r] (or the drawn token that it stands for) of the table, as fp32; 0 in empty
    // rows. x: (rows, columns of table).
    virtual void embed(const WeightMatrix& table, const BatchView& batch, FloatRows x) = 0;

    // x[r, :] += delta[r, :] (if delta.data); out[r, c] = x[r, c] * weight[c] / sqrt(mean_c(x[r, :]^2) +
    // eps). weight: (columns) fp32. Trips the sentinel where the mean is not finite.
    virtual void add_rms_norm(FloatRows x, FloatRows delta, const float* weight, float eps, HiddenRows out,
                              SentinelPlace place) = 0;

    // out[r, j] = sum_c x[r, c] * w[j, c]; several matrices with the same columns side by side: the outputs
    // of weights[0] first, then those of weights[1], ... Summed in fp32. An implementation may choose its
    // method by the number of rows, unless it was made to be batch-invariant; rows of one method do not
    // depend on each other.
    virtual void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) = 0;
    virtual void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) = 0;

    // out[r, j] = silu(g) * u with g = sum_c x[r, c] * gate[j, c], u the same of up; silu(g) = g / (1 +
    // exp(-g)).
    virtual void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up,
                              HiddenRows out) = 0;

    // qkv: (rows, (heads + 2 * kv_heads) * head_dim), queries, then keys, then values. Bias, norm of heads,
    // RoPE by batch.position; queries are changed in place, keys and values go into the cache, in its
    // element: see KvElement.
    virtual void rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                                const KvLayer& cache) = 0;

    // out[r, h, :] = sum_p softmax_p(scale * q[r, h, :] . k[p, h', :]) v[p, h', :] over the row's own
    // sequence, p from max(0, position - window + 1) (window > 0) or 0 to the row's position; h' = h / (heads
    // / kv_heads). qkv as rope_and_store leaves it; out: (rows, heads * head_dim), 0 in empty
    // rows; out.columns may be larger: it is the step from row to row, and what lies between is left alone.
    virtual void attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                           const KvLayer& cache, float scale, int window, HiddenRows out) = 0;

    // out[i, :] = x[batch.logit_row[i], :]. For the output head, which is needed for few rows.
    virtual void gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) = 0;
    // The same of x and of x += delta, before the last norm.
    virtual void gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) = 0;

    // Rows cut by columns over ranks, put together again: piece k fills the columns column_begin[k] ..
    // column_begin[k + 1] of out. It begins at row k * out.rows of `parts`, and has its own number of
    // columns, at most parts.columns, without gaps.
    virtual void join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) = 0;

    // One token for each row of logits (see sampling.h). tokens: (rows) int32. log_probability: (rows) or
    // nullptr: logarithm of the token's softmax over the logits as they came, before penalties, bias and
    // temperature.
    virtual void sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                        float* log_probability) = 0;

    // The n most probable tokens of each row, the most probable first, of equal logits the lower token; with
    // the logarithms of their softmax. tokens, log_probabilities: (rows, n); 1 <= n <= most_top, at most as
    // many as there are columns. Rows without meaning (see sampling.h) give -1 and NaN.
    virtual void top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                                       float* log_probabilities) = 0;
    static constexpr int most_top = 20;

    // Since the last call. Waits.
    virtual SentinelReport take_sentinel() = 0;
};

}  // namespace voltpile::llm
