// What prediction layers guess depends on exactly the tokens and hidden rows that their definition names
// (prediction_layer.h), whatever was cached, shared or evicted before.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>

#include "llm/engine/model_drafter.h"

namespace voltpile::llm::engine_prediction_layers_test {
namespace {

using Digest = std::uint64_t;
using Tokens = std::vector<std::int32_t>;

constexpr int kVocabulary = 50, kEnd = 7, kContext = 128;
constexpr int kModelPages = 64;

Digest mixed(Digest a, Digest b) {
    Digest x = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    return x ^ (x >> 27U);
}

// A row of a layer reads a token, a hidden row, and all rows before it.
Digest row_of(int layer, std::int32_t token, Digest hidden, Digest before) {
    return mixed(mixed(static_cast<Digest>(layer), static_cast<Digest>(token)), mixed(hidden, before));
}
std::int32_t likeliest(Digest row) {
    return static_cast<std::int32_t>(row % kVocabulary);
}
// The hidden row of the model for the last of these tokens.
Digest hidden_of_model(std::span<const std::int32_t> tokens) {
    Digest digest = 1;
    for (const std::int32_t token : tokens) digest = mixed(digest, static_cast<Digest>(token));
    return digest;
}

// Returns the guesses behind these tokens by the definition.
Tokens guessed_by_definition(Tokens tokens, int layers, int count) {
    const std::size_t known = tokens.size(), rows = known - 1;
    std::vector<Digest> hidden;
    for (std::size_t i = 0; i < rows; ++i) hidden.push_back(hidden_of_model(std::span(tokens).first(i + 1)));
    Digest before = 0;
    for (int layer = 0; layer < layers; ++layer) {
        before = 0;
        for (std::size_t i = 0; i < rows; ++i)
            hidden[i] = before =
                row_of(layer, tokens[i + 1 + static_cast<std::size_t>(layer)], hidden[i], before);
        tokens.push_back(likeliest(before));
    }
    while (tokens.size() < known + static_cast<std::size_t>(count)) {
        before = row_of(layers - 1, tokens.back(), before, before);
        tokens.push_back(likeliest(before));
    }
    Tokens guesses(tokens.begin() + static_cast<std::ptrdiff_t>(known), tokens.end());
    guesses.resize(static_cast<std::size_t>(count));
    const auto end = std::ranges::find(guesses, kEnd);
    if (end != guesses.end()) guesses.erase(end + 1, guesses.end());
    return guesses;
}

// Layers that compute digests, with a KV cache in pages.
class DigestLayers final : public PassExecutor {
  public:
    DigestLayers(int layers, int pages, bool feeds)
        : feeds_(feeds),
          cache_(static_cast<std::size_t>(layers),
                 std::vector<Digest>(static_cast<std::size_t>(pages * kv_page_tokens))) {}

    int lanes() const override { return 1; }
    bool feeds() const override { return feeds_; }
    void enqueue(const PlannedPass& pass) override {
        const Batch& batch = pass.batch;
        std::vector<Digest> rows;
        for (std::size_t i = 0; i < batch.token.size(); ++i) {
            const std::int32_t token = batch.token[i];
            const auto hidden_row = static_cast<std::size_t>(batch.hidden_row.at(i));
            constexpr auto of_model = static_cast<std::size_t>(kModelPages * kv_page_tokens);
            const Digest hidden =
                hidden_row < of_model ? model_rows.at(hidden_row) : last_rows_.at(hidden_row - of_model);
            const int position = batch.position[i];
            const Digest before = position == 0 ? 0 : at(batch, i, position - 1);
            rows.push_back(row_of(batch.prediction_layer,
                                  token < 0 ? last_drawn_.at(static_cast<std::size_t>(-1 - token)) : token,
                                  hidden, before));
            at(batch, i, position) = rows.back();
        }
        last_rows_ = rows;
        last_drawn_.clear();
        std::vector<DrawnToken>& drawn = drawn_.emplace_back();
        EXPECT_EQ(pass.draws.size(), batch.logit_row.size());
        for (const std::int32_t row : batch.logit_row) {
            last_drawn_.push_back(likeliest(rows.at(static_cast<std::size_t>(row))));
            drawn.push_back({last_drawn_.back(), 0});
        }
        ++passes;
    }
    std::vector<DrawnToken> collect() override {
        auto drawn = std::move(drawn_.front());
        drawn_.pop_front();
        return drawn;
    }

    std::map<std::size_t, Digest> model_rows;  // by their index
    int passes = 0;

  private:
    Digest& at(const Batch& batch, std::size_t row, int position) {
        const int entry = batch.sequence[row] * batch.max_pages + position / kv_page_tokens;
        const std::int32_t page = batch.page_table.at(static_cast<std::size_t>(entry));
        return cache_.at(static_cast<std::size_t>(batch.prediction_layer))
            .at(static_cast<std::size_t>(page * kv_page_tokens + position % kv_page_tokens));
    }

    bool feeds_;
    std::vector<std::vector<Digest>> cache_;  // by layer and slot
    std::vector<Digest> last_rows_;
    Tokens last_drawn_;
    std::deque<std::vector<DrawnToken>> drawn_;
};

struct Case {
    int layers;
    bool feeds;
    int pages;  // of the layers' cache
};

class PredictionLayersDrafterTest : public testing::TestWithParam<Case> {
  protected:
    PredictionLayersDrafterTest() : passes_(GetParam().layers, GetParam().pages, GetParam().feeds) {
        ModelDrafterSettings settings{{24, 6, 8, 30}, GetParam().pages, kContext,
                                      kVocabulary,    {kEnd},           PassPace({{16, 0.1}})};
        settings.hidden_rows = kModelPages * kv_page_tokens;
        settings.layers = GetParam().layers;
        drafter_.emplace(passes_, settings);
    }

    // Begins a sequence in pages of the model of its own. Its first tokens are those of many others.
    void begin(int id) {
        Sequence& sequence = sequences_[id];
        sequence = {};
        sequence.id = id;
        sequence.sampling = std::make_shared<const SamplingSettings>();
        for (int page = 0; page < kContext / kv_page_tokens; ++page)
            sequence.pages.push_back(id * kContext / kv_page_tokens + page);
        const int common = static_cast<int>(random_() % 40), all = 1 + static_cast<int>(random_() % 60);
        for (int i = 0; i < all; ++i)
            sequence.tokens.push_back(i < common ? (i * i + 3) % kVocabulary : any_token());
        // Pages of layers depend on tokens before those of their rows, too.
        if (all > 2 && random_() % 2 == 0) sequence.tokens[1 + random_() % 2] = any_token();
        know(sequence);
    }
    void know(const Sequence& sequence) {
        for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
            const auto page = static_cast<std::size_t>(sequence.pages[i / kv_page_tokens]);
            passes_.model_rows[page * kv_page_tokens + i % kv_page_tokens] =
                hidden_of_model(std::span(sequence.tokens).first(i + 1));
        }
    }
    std::int32_t any_token() { return static_cast<std::int32_t>(random_() % kVocabulary); }

    DigestLayers passes_;
    std::optional<ModelDrafter> drafter_;
    std::map<int, Sequence> sequences_;
    std::mt19937 random_{11};
};

TEST_P(PredictionLayersDrafterTest, GuessesByTheDefinition) {
    constexpr int count = 8, calls = 400;
    for (int id = 0; id < count; ++id) begin(id);
    int guessed = 0, longest = 0;
    for (int call = 0; call < calls; ++call) {
        std::vector<Drafter::Task> tasks;
        for (auto& [id, sequence] : sequences_)
            if (sequence.tokens.size() > 1 && random_() % 3 > 0)
                tasks.push_back({&sequence, 1 + static_cast<int>(random_() % 5)});
        const auto guesses = drafter_->guess(tasks);
        ASSERT_EQ(guesses.size(), tasks.size());
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            if (guesses[i].empty()) continue;
            ASSERT_EQ(guesses[i],
                      guessed_by_definition(tasks[i].sequence->tokens, GetParam().layers, tasks[i].tokens))
                << call << ' ' << i;
            ++guessed;
            longest = std::max(longest, static_cast<int>(guesses[i].size()));
        }
        for (auto& [id, sequence] : sequences_) {
            for (std::uint32_t more = random_() % 4; more > 0; --more) sequence.tokens.push_back(any_token());
            know(sequence);
            if (std::ssize(sequence.tokens) < kContext - 10) continue;
            drafter_->forget(id);
            begin(id);
        }
    }
    EXPECT_EQ(longest, 5);
    EXPECT_GT(guessed, calls);
    for (int id = 0; id < count; ++id) drafter_->forget(id);
    EXPECT_EQ(drafter_->cache().available(), GetParam().pages);
}

// A sequence that goes on costs a pass for each layer, and one for each further guess.
TEST_P(PredictionLayersDrafterTest, RunsEachLayerOncePerCall) {
    Sequence& sequence = sequences_[0];
    begin(0);
    sequence.tokens.assign(20, 3);
    know(sequence);
    int whole = 0;
    for (const int tokens : {1, 2, 5, 4, 3}) {
        const int before = passes_.passes;
        const Drafter::Task task{&sequence, tokens};
        const auto guesses = drafter_->guess({&task, 1});
        EXPECT_EQ(guesses.front(), guessed_by_definition(sequence.tokens, GetParam().layers, tokens));
        if (std::ssize(guesses.front()) == tokens) {  // none ends the text
            ++whole;
            EXPECT_EQ(passes_.passes - before, std::max(tokens, GetParam().layers));
        }
        sequence.tokens.push_back(4);
        know(sequence);
    }
    EXPECT_GT(whole, 3);
}

INSTANTIATE_TEST_SUITE_P(Layers, PredictionLayersDrafterTest,
                         testing::Values(Case{1, false, 200}, Case{1, true, 30}, Case{2, false, 200},
                                         Case{2, true, 30}, Case{3, false, 30}, Case{3, true, 200}));

}  // namespace
}  // namespace voltpile::llm::engine_prediction_layers_test
