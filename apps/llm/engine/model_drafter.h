// Guesses the next tokens of sequences with a small model. The model has passes and a KV cache of its own.
// The cache follows the sequences: it keeps what was guessed right, and what was wrong is overwritten. A
// sequence that is preempted keeps its pages here until others need them.
//
// Guesses are drawn with the settings, the seed and the number of the draw that the large model will use. So
// they agree as often as the two models allow, also where tokens are sampled.
//
// A prediction layer (prediction_layer.h) or an EAGLE 3 head (eagle_head.h) has a row for each token but the
// first, which also needs the hidden row of the token before it. So its cache has the sequence without its
// first token, and has nothing of guesses: their rows are computed again, with the hidden rows of the large
// model.
#pragma once

#include <optional>
#include <unordered_map>

#include "llm/engine/draft_tokens.h"
#include "llm/engine/drafter.h"
#include "llm/engine/pass.h"
#include "llm/engine/pass_pace.h"
#include "llm/engine/prefix_cache.h"

namespace voltpile::llm {

struct ModelDrafterSettings {
    BatchLimits limits;  // of a pass
    int pages = 0;       // of the KV cache
    int context = 0;     // tokens of a sequence, including guesses
    // Tokens that both models know: 0 to vocabulary - 1. Sequences with other tokens get no guesses.
    std::int64_t vocabulary = 0;
    std::vector<std::int64_t> end_ids;  // nothing is guessed after these
    PassPace pace;                      // of decode steps, known
    // The model is the prediction layer of the large one, or an EAGLE 3 head for it. It guesses from the
    // hidden rows of the large model's tokens, and then from those of its own last pass, which begin at this
    // index of Decoder::hidden_rows().
    std::optional<int> hidden_rows = {};
    DraftTokens tokens = {};  // that the model's logits stand for
};

class ModelDrafter final : public Drafter {
  public:
    // passes: of the small model; nobody else uses them meanwhile. Throws std::invalid_argument for
    // inconsistent settings.
    ModelDrafter(PassExecutor& passes, ModelDrafterSettings settings);

    int most(const Sequence& sequence, int more) const override;
    double seconds(int sequences) const override { return settings_.pace.seconds(sequences); }
    // The first pass reads the tokens that the cache lacks, at most as many as a pass holds: a sequence with
    // more of them gets its guesses in a later call.
    std::vector<std::vector<std::int32_t>> guess(std::span<const Task> tasks) override;
    void forget(std::int64_t id) override;

    const PrefixCache& cache() const { return cache_; }

  private:
    struct State {
        Sequence cached;                  // tokens and pages; `computed` of the tokens are in the cache
        std::vector<std::int32_t> ahead;  // guessed tokens in the cache after all of them
        std::uint64_t used = 0;           // the last call of guess() with this sequence
        bool unknown = false;             // it has a token that the model does not know
    };
    int skipped() const { return settings_.hidden_rows ? 1 : 0; }  // tokens at the beginning without a row
    void begin_prediction(const Sequence& sequence, Sequence& cached) const;
    // Adds the hidden rows of the next `count` rows of a sequence to those of a batch.
    void add_hidden_rows(const Sequence& sequence, int begin, int count,
                         std::vector<std::int32_t>& rows) const;
    // A sequence with a draw in the pass in flight.
    struct Writing {
        std::size_t task = 0;
        std::size_t draw = 0;  // its index
    };
    struct Call;

    bool knows(std::int32_t token) const { return token >= 0 && token < settings_.vocabulary; }
    State& follow(const Sequence& sequence);
    bool make_place(State& state, int tokens);
    std::vector<Writing> read(Call& call);
    std::vector<Writing> write(Call& call, std::vector<Writing> writing, bool feed);
    void take(Call& call, const std::vector<Writing>& writing);

    PassExecutor& passes_;
    ModelDrafterSettings settings_;
    PrefixCache cache_;
    std::unordered_map<std::int64_t, State> states_;  // by Sequence::id
    std::uint64_t calls_ = 0;
    std::uint64_t pass_ = 0;  // enqueued so far
};

}  // namespace voltpile::llm
