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
//
// Of several prediction layers, layer k has a row for each token but the first k + 1, which also needs the
// row of the token before it in layer k - 1. In each call all layers read the tokens that the cache lacks,
// one after the other, and each guesses a token more. The cache has the rows that all layers have.
#pragma once

#include <map>
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
    // The model is the prediction layers of the large one, or an EAGLE 3 head for it. It guesses from the
    // hidden rows of the large model's tokens, and then from those of its own last pass, which begin at this
    // index of Decoder::hidden_rows().
    std::optional<int> hidden_rows = {};
    int layers = 1;           // prediction layers
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
    // Rows of a sequence in the last pass.
    struct Piece {
        std::size_t task = 0;
        int begin = 0, count = 0;
        bool all_logits = false;  // if it draws: each row has logits, otherwise only the last one
        bool draws = false;
        std::size_t draw = 0;  // the index of its last row's draw
        int row = 0;           // the index of its first row
    };
    struct Call;
    struct Building;

    // The layer that guesses in pass `number` of a call, from 0 on.
    int layer_of(int number) const { return std::min(number, settings_.layers - 1); }
    // Tokens at the beginning of a sequence without a row in a layer.
    int skipped(int layer) const { return settings_.hidden_rows ? layer + 1 : 0; }
    // The same in some layer.
    int skipped() const { return skipped(settings_.layers - 1); }
    void begin_prediction(const Sequence& sequence, Sequence& cached);

    bool knows(std::int32_t token) const { return token >= 0 && token < settings_.vocabulary; }
    State& follow(const Sequence& sequence);
    bool make_place(State& state, int tokens);
    void add(Building& building, Piece piece, const Sequence& sequence, std::span<const std::int32_t> tokens,
             std::span<const std::int32_t> guessed, int before);
    std::vector<Piece> enqueue(Building building, int layer);
    std::vector<Piece> read(const Call& call);
    std::vector<Piece> write(Call& call, std::span<const Piece> pieces, int number, bool feed);
    void take(Call& call, std::span<const Piece> pieces);
    void go_on(const Call& call, std::vector<Piece>& pieces, int number) const;

    PassExecutor& passes_;
    ModelDrafterSettings settings_;
    PrefixCache cache_;
    std::unordered_map<std::int64_t, State> states_;  // by Sequence::id
    // Numbers of the adapters and first tokens of sequences.
    std::map<std::pair<int, std::vector<std::int32_t>>, int> beginnings_;
    int next_beginning_ = 0;
    std::uint64_t calls_ = 0;
    std::uint64_t pass_ = 0;  // enqueued so far
};

}  // namespace voltpile::llm
