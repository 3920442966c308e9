// An executor that draws the tokens given by the test.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "base/error.h"
#include "llm/engine/pass.h"

namespace voltpile::llm {

// The n-th draw of a sequence with seed s is told[s][n]; later ones, which the engine discards, and those of
// other seeds are told_token(s, n).
class ToldExecutor final : public PassExecutor {
  public:
    static std::int32_t told_token(std::uint64_t seed, int step) {
        return static_cast<std::int32_t>(5 + (7 * seed + 3 * static_cast<std::uint64_t>(step)) % 50);
    }

    int lanes() const override { return 1; }
    bool feeds() const override { return true; }
    void enqueue(const PlannedPass& pass) override {
        auto& next = under_way_.emplace_back();
        for (const Draw& draw : pass.draws) {
            const auto known = told.find(draw.settings->seed);
            const auto step = static_cast<std::size_t>(draw.step);
            const bool is_told = known != told.end() && step < known->second.size();
            next.drawn.push_back({is_told ? known->second[step] : told_token(draw.settings->seed, draw.step),
                                  -0.5F * static_cast<float>(step)});
            next.top.emplace_back();
            for (int i = 0; i < draw.top_n; ++i) next.top.back().token.push_back(draw.step + i);
        }
    }
    std::vector<DrawnToken> collect() override {
        if (broken) throw DeviceError("the GPU is lost");
        Pass pass = std::move(under_way_.front());
        under_way_.pop_front();
        top_ = std::move(pass.top);
        return pass.drawn;
    }
    std::vector<TopTokens> top() override { return top_; }
    std::string why_no_numbers() override { return "layer 3"; }

    std::map<std::uint64_t, std::vector<std::int32_t>> told;
    bool broken = false;  // collect() throws
    std::size_t under_way() const { return under_way_.size(); }

  private:
    struct Pass {
        std::vector<DrawnToken> drawn;
        std::vector<TopTokens> top;
    };
    std::deque<Pass> under_way_;
    std::vector<TopTokens> top_;
};

}  // namespace voltpile::llm
