// A PassExecutor without a model. Its cache holds the tokens themselves. Each draw is a function of the
// settings, the step and all tokens of the sequence, which it reads through the page table: a wrong, missing
// or wrongly shared page changes the sequence.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "llm/engine/scheduler.h"

namespace voltpile::llm {

constexpr std::int32_t paper_words = 40;
constexpr std::int32_t paper_end = 0;  // the end token

inline std::uint64_t mixed(std::uint64_t x) {  // the finalizer of SplitMix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

inline std::uint64_t paper_digest(std::uint64_t before, std::int32_t token) {
    return mixed(before + static_cast<std::uint64_t>(token) + 1);
}

inline std::int32_t paper_draw(std::uint64_t digest, const SamplingSettings& settings, int step) {
    return static_cast<std::int32_t>(
        mixed(digest + 7 * settings.seed + 31 * static_cast<std::uint64_t>(step)) % paper_words);
}

class PaperExecutor : public PassExecutor {
  public:
    PaperExecutor(const SchedulerSettings& settings, const PrefixCache& cache)
        : settings_(settings),
          cache_(cache),
          cells_(static_cast<std::size_t>(settings.pages * kv_page_tokens)),
          host_cells_(static_cast<std::size_t>(settings.host_pages * kv_page_tokens)),
          written_to_(static_cast<std::size_t>(settings.pages)) {}

    int lanes() const override { return settings_.lanes; }
    bool feeds() const override { return settings_.feeds; }
    std::vector<DrawnToken> collect() override {
        auto drawn = std::move(under_way_.front().drawn);
        under_way_.pop_front();
        return drawn;
    }

    void enqueue(const PlannedPass& pass) override {
        for (const PageMove& move : pass.moves) this->move(move);
        check(pass);
        count_followers(pass);
        ++passes_;
        const Batch& batch = pass.batch;
        for (std::size_t row = 0; row < batch.token.size(); ++row) write(batch, row);
        under_way_.push_back({pass.lane, {}, {}});
        if (pass.draws_later)
            undrawn_ = batch;
        else
            draw(batch, pass.draws);
    }
    void draw(const std::vector<Draw>& draws) override {
        ASSERT_EQ(under_way_.size(), 1U) << "the pass before has not been collected";
        ASSERT_TRUE(undrawn_);
        draw(*std::exchange(undrawn_, std::nullopt), draws);
        ++late_draws_;
    }

    int late_draws() const { return late_draws_; }  // passes whose draws came later
    int passes() const { return static_cast<int>(passes_); }
    int moves_out() const { return moves_out_; }
    int moves_in() const { return moves_in_; }
    // Pieces of prompts whose previous piece was in flight in another lane.
    int followers() const { return followers_; }

  protected:
    // Returns the token drawn after tokens with this digest, of which `last` is the last.
    virtual std::int32_t drawn_after(std::uint64_t digest, std::int32_t /*last*/, const Draw& draw) const {
        return paper_draw(digest, *draw.settings, draw.step);
    }

  private:
    struct Cell {
        std::int32_t token = -1;
        std::uint64_t digest = 0;
        std::uint64_t pass = 0;
        std::int32_t sequence = -1;  // of that pass
        int position = 0;
    };
    struct UnderWay {
        int lane;
        std::vector<Draw> draws;
        std::vector<DrawnToken> drawn;
    };

    void check(const PlannedPass& pass) const {
        const Batch& batch = pass.batch;
        const auto sequences = std::ssize(batch.row_begin) - 1;
        const auto here = std::ranges::count(under_way_, pass.lane, &UnderWay::lane);
        ASSERT_LE(here, settings_.feeds ? 1 : 0);
        ASSERT_NO_THROW(check_limits(batch, settings_.limits));
        ASSERT_GT(batch.token.size(), 0U);
        ASSERT_FALSE(undrawn_) << "the draws of the pass before are missing";
        if (pass.draws_later) {
            ASSERT_TRUE(pass.draws.empty());
            ASSERT_EQ(here, 1) << "no token is missing";
        } else {
            ASSERT_EQ(batch.logit_row.size(), pass.draws.size());
        }
        ASSERT_EQ(std::ssize(batch.page_table), sequences * batch.max_pages);
        for (std::size_t s = 0; s < static_cast<std::size_t>(sequences); ++s) {
            const auto begin = static_cast<std::size_t>(batch.row_begin[s]),
                       end = static_cast<std::size_t>(batch.row_begin[s + 1]);
            ASSERT_LT(begin, end);
            for (std::size_t row = begin; row < end; ++row) {
                ASSERT_EQ(batch.sequence[row], static_cast<std::int32_t>(s));
                ASSERT_EQ(batch.position[row], batch.position[begin] + static_cast<int>(row - begin));
                ASSERT_EQ(cache_.users(page_of(batch, row, batch.position[row])), 1)
                    << "a written page has one user";
            }
            const int first = batch.position[begin];
            if (first > 0) {
                const int written = written_to_[static_cast<std::size_t>(page_of(batch, begin, first - 1))];
                ASSERT_GE(written, first) << "a piece comes after the previous one";
                ASSERT_LE(written, first + settings_.draft_tokens) << "wrong guesses are written over";
            }
        }
        for (const UnderWay& other : under_way_) {
            if (other.lane == pass.lane) continue;
            for (const Draw& a : other.draws)
                for (const Draw& b : pass.draws)
                    ASSERT_NE(a.settings, b.settings) << "a sequence draws in two lanes";
        }
    }

    // The tokens of the last pass.
    void draw(const Batch& batch, const std::vector<Draw>& draws) {
        std::vector<DrawnToken>& drawn = under_way_.back().drawn;
        for (std::size_t i = 0; i < batch.logit_row.size(); ++i) {
            const auto row = static_cast<std::size_t>(batch.logit_row[i]);
            const Draw& draw = draws[i];
            check_history(draw, read(batch, row));
            const std::uint64_t digest = cell(batch, row, batch.position[row]).digest;
            drawn.push_back({drawn_after(digest, cell(batch, row, batch.position[row]).token, draw), 0});
        }
        under_way_.back().draws = draws;
        last_drawn_ = drawn;
    }

    void count_followers(const PlannedPass& pass) {
        const Batch& batch = pass.batch;
        for (std::size_t s = 0; s + 1 < batch.row_begin.size(); ++s) {
            const auto begin = static_cast<std::size_t>(batch.row_begin[s]);
            if (batch.position[begin] == 0) continue;
            // Passes are numbered from 1; the last ones are in flight.
            const std::uint64_t before = cell(batch, begin, batch.position[begin] - 1).pass;
            const std::uint64_t collected = passes_ - under_way_.size();
            if (before > collected && under_way_[before - collected - 1].lane != pass.lane) ++followers_;
        }
    }

    static std::int32_t page_of(const Batch& batch, std::size_t row, int position) {
        return batch.page_table[static_cast<std::size_t>(batch.sequence[row] * batch.max_pages +
                                                         position / kv_page_tokens)];
    }
    Cell& cell(const Batch& batch, std::size_t row, int position) {
        return cells_[static_cast<std::size_t>(page_of(batch, row, position) * kv_page_tokens +
                                               position % kv_page_tokens)];
    }

    void move(const PageMove& move) {
        ASSERT_LT(move.slot, settings_.host_pages);
        const auto page = cells_.begin() + move.page * kv_page_tokens;
        const auto slot = host_cells_.begin() + move.slot * kv_page_tokens;
        ++(move.out ? moves_out_ : moves_in_);
        if (move.out) {
            std::copy_n(page, kv_page_tokens, slot);
            return;
        }
        std::copy_n(slot, kv_page_tokens, page);
        written_to_[static_cast<std::size_t>(move.page)] = (page + kv_page_tokens - 1)->position + 1;
        for (auto cell = page; cell != page + kv_page_tokens; ++cell) cell->pass = 0;
    }

    void write(const Batch& batch, std::size_t row) {
        std::int32_t token = batch.token[row];
        const int position = batch.position[row];
        Cell& to = cell(batch, row, position);
        ASSERT_NE(to.pass, passes_) << "two rows write the same place";
        if (token < 0) {
            ASSERT_TRUE(settings_.feeds);
            ASSERT_LT(static_cast<std::size_t>(-1 - token), last_drawn_.size());
            token = last_drawn_[static_cast<std::size_t>(-1 - token)].token;
        }
        const std::uint64_t before = position == 0 ? 0 : cell(batch, row, position - 1).digest;
        to = {token, paper_digest(before, token), passes_, batch.sequence[row], position};
        written_to_[static_cast<std::size_t>(page_of(batch, row, position))] = position + 1;
    }
    std::vector<std::int32_t> read(const Batch& batch, std::size_t row) {
        std::vector<std::int32_t> tokens;
        for (int position = 0; position <= batch.position[row]; ++position) {
            const Cell& from = cell(batch, row, position);
            EXPECT_TRUE(from.pass != passes_ || from.sequence == batch.sequence[row])
                << "another sequence of the same pass computes it";
            tokens.push_back(from.token);
        }
        return tokens;
    }
    static void check_history(const Draw& draw, const std::vector<std::int32_t>& tokens) {
        ASSERT_EQ(draw.history != nullptr, draw.settings->presence_penalty != 0);
        if (draw.history == nullptr) return;
        std::map<std::int32_t, std::int32_t> counts;
        for (const std::int32_t token : tokens) ++counts[token];
        ASSERT_EQ(*draw.history, counts);
    }

    SchedulerSettings settings_;
    const PrefixCache& cache_;
    std::vector<Cell> cells_, host_cells_;
    std::vector<int> written_to_;  // by page: the position after the last one written
    std::deque<UnderWay> under_way_;
    std::vector<DrawnToken> last_drawn_;
    std::optional<Batch> undrawn_;  // the last pass, if its draws are missing
    std::uint64_t passes_ = 0;
    int late_draws_ = 0;
    int followers_ = 0;
    int moves_out_ = 0, moves_in_ = 0;
};

}  // namespace voltpile::llm
