// Writes one text, or the answers of one chat: processes tokens in pieces, then draws one after the other.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/decoder/pass_runner.h"

namespace voltpile::llm {

struct GenerateSettings {
    int max_tokens = 128;
    bool ignore_end = false;  // goes on after a token that ends a text
    SamplingSettings sampling;
};

enum class Finish {
    End,      // a token that ends a text, which is not among `tokens`
    Length,   // as many as were asked for
    Context,  // no room for more
    Stopped,  // by who was told the tokens; by a stop string or stop token
    Failed,   // the model gave no numbers to draw from
};

struct Generated {
    std::vector<std::int32_t> tokens;
    std::vector<float> log_probability;
    Finish finish = Finish::Length;
    double prompt_seconds = 0;
    double generation_seconds = 0;  // from the first token on
};

// One pass, and a token for each row of logits: a replica's step, or a single rank's.
using Step = std::function<std::vector<DrawnToken>(const Batch&, std::span<const SamplingRow>)>;

class TextWriter {
  public:
    // end_ids: tokens of which any ends a text. room: tokens that the cache has room for; `step` takes
    // batches within single_text_limits(room).
    TextWriter(Step step, std::vector<std::int64_t> end_ids, int room);
    TextWriter(const TextWriter&) = delete;
    TextWriter& operator=(const TextWriter&) = delete;

    // Forgets all from position `begin` on, which is at most cached(); has `prompt`, which is not empty and
    // leaves room, follow there; and draws. told: each token as it comes; false ends the text. The same on
    // every rank of a replica, if `told` answers the same. Throws as `step`.
    Generated write(int begin, std::span<const std::int32_t> prompt, const GenerateSettings& settings,
                    const std::function<bool(std::int32_t)>& told);

    // Tokens in the cache: all but the last one drawn, or all if one drawn after it ended the text.
    int cached() const { return static_cast<int>(cached_.size()); }

  private:
    DrawnToken process(std::span<const std::int32_t> tokens, const SamplingSettings& sampling);

    Step step_;
    std::vector<std::int64_t> end_ids_;
    int room_;
    PagePool pool_;
    SequencePages pages_;
    std::vector<std::int32_t> cached_;
    std::map<std::int32_t, std::int32_t> history_;  // how often each token is in the text
    std::int32_t drawn_ = 0;  // tokens in all, so that no draw of a chat is like an earlier one
};

// The limits of a decoder that one text of up to `tokens` can be written with.
BatchLimits single_text_limits(int tokens);

}  // namespace voltpile::llm
