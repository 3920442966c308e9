// Passes from tokens to drawn tokens. Those in which each sequence has one token are recorded, once for each
// shape, and replayed: a step then costs the host one upload, one launch and one small download.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "llm/decoder/batch_buffer.h"
#include "llm/decoder/decoder.h"
#include "llm/decoder/sampling_buffer.h"

namespace voltpile::llm {

struct DrawnToken {
    std::int32_t token = -1;  // -1: the row of logits held no numbers to draw from
    float log_probability = 0;
};

// The most probable tokens of a row of logits, best first.
struct TopTokens {
    std::vector<std::int32_t> token;
    std::vector<float> log_probability;
};

// What the rows of logits of a pass have given.
struct Draws {
    std::vector<DrawnToken> tokens;
    // Of each row as many as the pass's largest top_n; empty if that is 0.
    std::vector<TopTokens> top;

    // As bytes, so many of each pass, also if it draws nothing.
    static std::size_t message_bytes(std::size_t draws, int top_n);
    std::vector<std::byte> to_message() const;
    static Draws from_message(std::span<const std::byte> bytes, std::size_t draws, int top_n);
};

int largest_top_n(std::span<const SamplingRow> rows);

// What passes are recorded for: they are filled up with empty rows, and with pages that nobody reads.
struct StepShape {
    int rows = 0;
    int context = 0;
    auto operator<=>(const StepShape&) const = default;
};

// The smallest shape that has room, of a ladder: rows 1, 2, ... 8, by 8 to 64, by 32 above; contexts of
// powers of two from 128. At most what the limits allow.
StepShape step_shape(int rows, int context, const BatchLimits& limits);

// batch: one row and one row of logits for each sequence. shape: has room.
Batch filled_up(Batch batch, const StepShape& shape);

// What a pass draws, on its way to the host.
class DrawsUnderWay {
  public:
    DrawsUnderWay() = default;
    DrawsUnderWay(HostCopy& copy, std::size_t rows, std::size_t draws, int top_n)
        : copy_(&copy), rows_(rows), draws_(draws), top_n_(top_n) {}

    Draws wait() const;  // until the pass is done. From any thread

  private:
    HostCopy* copy_ = nullptr;
    std::size_t rows_ = 0;  // of the pass as recorded
    std::size_t draws_ = 0;
    int top_n_ = 0;
};

class PassRunner {
  public:
    // All outlive it. replays: false runs every pass call by call.
    PassRunner(Decoder& decoder, Ops& ops, const BatchLimits& limits, bool replays = true);

    // Enqueues a pass for the sake of its logits, see Decoder::forward.
    FloatRows forward(const Batch& batch);

    // Enqueues a pass and, on the last stage, the draw of a token for each of its rows
    // of logits. sampling: as many, looked at on the last stage only. A token of the batch may be -1 - k: the
    // one that draw k of the pass enqueued just before draws, where this stage is the first and the last.
    void enqueue(const Batch& batch, std::span<const SamplingRow> sampling);

    // Sends to the host what the pass just enqueued draws: its tokens on the last stage, elsewhere nothing.
    // At most most_under_way may not have been waited for.
    DrawsUnderWay send_draws();
    static constexpr int most_under_way = 8;

    // Of the pass before, as Decoder::forward returns them.
    FloatRows logits() const { return logits_; }

  private:
    struct Recorded {
        BatchView batch;
        SamplingView sampling;
        FloatRows logits;
        std::unique_ptr<Recording> recording;  // null: has run once, call by call
    };

    FloatRows compute(const BatchView& batch, const SamplingView& sampling);
    void add_top();
    void replay(const StepShape& shape, const BatchView& batch, const SamplingView& sampling);

    Decoder& decoder_;
    Ops& ops_;
    BatchLimits limits_;
    bool replays_;
    UploadBlock block_;
    // Of the rows of logits: tokens, their log-probabilities, then the most probable tokens of each and
    // theirs.
    std::unique_ptr<OpsMemory> drawn_;
    std::map<StepShape, Recorded> recorded_;
    FloatRows logits_;
    std::size_t draws_ = 0;  // wanted of it
    int top_n_ = 0;          // of each
    std::vector<std::unique_ptr<HostCopy>> copies_;
    std::size_t next_copy_ = 0;
};

}  // namespace voltpile::llm
