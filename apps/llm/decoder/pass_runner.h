// Runs passes from tokens to drawn tokens. Decode steps, in which each sequence has one token, or a few with
// guesses ahead, are recorded once for each shape of rows and replayed: a step then costs the host one
// upload, one launch and one small download.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "llm/decoder/batch_buffer.h"
#include "llm/decoder/decoder.h"
#include "llm/decoder/sampling_buffer.h"

namespace voltpile::llm {

struct DrawnToken {
    std::int32_t token = -1;  // -1: the row of logits was not finite
    float log_probability = 0;
};

// The most probable tokens of a row of logits, best first.
struct TopTokens {
    std::vector<std::int32_t> token;
    std::vector<float> log_probability;
};

// The tokens drawn from the rows of logits of a pass.
struct Draws {
    std::vector<DrawnToken> tokens;
    // For each row as many tokens as the largest top_n of the pass; empty if that is 0.
    std::vector<TopTokens> top;

    // Conversion to and from bytes. A pass without draws has a message too.
    static std::size_t message_bytes(std::size_t draws, int top_n);
    std::vector<std::byte> to_message() const;
    static Draws from_message(std::span<const std::byte> bytes, std::size_t draws, int top_n);
};

int largest_top_n(std::span<const SamplingRow> rows);

// The shape of a recorded decode step. Smaller batches are padded with empty rows and unused pages.
struct StepShape {
    int rows = 0;
    int context = 0;
    auto operator<=>(const StepShape&) const = default;
};

// Returns the smallest recorded shape with room for a batch. Rows: 1 to 8, then multiples of 8 to 64, then of
// 32; contexts: powers of two from 128. Both at most what the limits allow.
StepShape step_shape(int rows, int context, const BatchLimits& limits);

// Pads a decode step to a shape with room for it. batch: one row and one row of logits for each sequence.
Batch filled_up(Batch batch, const StepShape& shape);

// The draws of a pass on their way to the host.
class DrawsUnderWay {
  public:
    DrawsUnderWay() = default;
    DrawsUnderWay(HostCopy& copy, std::size_t rows, std::size_t draws, int top_n)
        : copy_(&copy), rows_(rows), draws_(draws), top_n_(top_n) {}

    Draws wait() const;  // waits for the pass; callable from any thread

  private:
    HostCopy* copy_ = nullptr;
    std::size_t rows_ = 0;  // including padding
    std::size_t draws_ = 0;
    int top_n_ = 0;
};

class PassRunner {
  public:
    // decoder, ops: must outlive this object. replays: false runs every pass call by call.
    PassRunner(Decoder& decoder, Ops& ops, const BatchLimits& limits, bool replays = true);

    // Enqueues a pass without draws and returns its logits as Decoder::forward() does.
    FloatRows forward(const Batch& batch);

    // Enqueues a pass and, on the last stage, the draw of a token for each row of logits. sampling: one entry
    // for each of those rows, used on the last stage only. If there is only one stage, a token -1 - k of the
    // batch stands for the token of draw k in the pass enqueued just before.
    void enqueue(const Batch& batch, std::span<const SamplingRow> sampling);

    // The same in two steps, for settings that are known only after the logits have been enqueued. There must
    // be only one stage, and the pass must have rows of logits.
    void enqueue_logits(const Batch& batch);
    void draw(std::span<const SamplingRow> sampling);

    // Starts copying the draws of the pass just enqueued to the host; on stages other than the last there are
    // none. At most most_under_way copies may not have been waited for.
    DrawsUnderWay send_draws();
    static constexpr int most_under_way = 8;

    // Returns the logits of the last pass, as Decoder::forward() does.
    FloatRows logits() const { return logits_; }

  private:
    struct Recorded {
        BatchView batch;
        std::optional<SamplingView> sampling;  // nothing: draw() follows
        FloatRows logits;
        std::unique_ptr<Recording> recording;  // null after the first run, which goes call by call
    };

    using Rows = std::optional<std::span<const SamplingRow>>;
    void enqueue_pass(const Batch& batch, const Rows& sampling);
    FloatRows compute(const BatchView& batch, int prediction_layer,
                      const std::optional<SamplingView>& sampling);
    void sample(const FloatRows& logits, const SamplingView& sampling);
    void add_top();
    void replay(const StepShape& shape, const BatchView& batch, int prediction_layer,
                const std::optional<SamplingView>& sampling);

    Decoder& decoder_;
    Ops& ops_;
    BatchLimits limits_;
    bool replays_;
    UploadBlock block_, draw_block_;
    // For the rows of logits: tokens, log-probabilities, then the most probable tokens of each row, and their
    // log-probabilities.
    std::unique_ptr<OpsMemory> drawn_;
    // By shape, whether with draws, whether with adapters, and prediction layer.
    std::map<std::tuple<StepShape, bool, bool, int>, Recorded> recorded_;
    FloatRows logits_;
    std::size_t draws_ = 0;  // rows of logits_ that are not padding
    int top_n_ = 0;          // for each draw
    std::vector<std::unique_ptr<HostCopy>> copies_;
    std::size_t next_copy_ = 0;
};

}  // namespace voltpile::llm
