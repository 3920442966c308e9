// Models whose tokens follow each other in one cycle, so that what predicts them must guess all right.
#pragma once

#include <bit>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "llm/engine/engine.h"
#include "llm/predicting_model.h"

namespace voltpile::llm::predicting {

constexpr int kFirst = 3, kWords = 29;  // tokens of the cycle: 3 to 31

inline std::int32_t follower(std::int32_t token) {
    return kFirst + (token - kFirst + 11) % kWords;  // one cycle, because 29 is prime
}

inline bool in_cycle(int token) {
    return token >= kFirst && token < kFirst + kWords;
}

// Rows of a Hadamard matrix are orthogonal. Columns 32 to 63 are those from 0 on again, and column 0 is 1.
inline float embedding(std::int32_t token, int column) {
    return std::popcount(static_cast<unsigned>(token & column)) % 2 == 0 ? 1.0F : -1.0F;
}

// The embedding as a matrix, and a head that finds the follower of an embedded token; 0 for other tokens.
inline float cycle_embedding(int token, int column) {
    return in_cycle(token) ? embedding(token, column) : 0.0F;
}
inline float cycle_head(int token, int column) {
    static const std::map<int, int> before = [] {
        std::map<int, int> tokens;
        for (int each = kFirst; each < kFirst + kWords; ++each) tokens[follower(each)] = each;
        return tokens;
    }();
    return in_cycle(token) ? embedding(before.at(token), column) : 0.0F;
}
// Of the matrix that turns the first `columns` columns of an embedding into those of the follower's.
inline float cycle_step(int row, int column, int columns) {
    float sum = 0;
    for (int token = kFirst; token < kFirst + kWords; ++token)
        sum += embedding(follower(token), row) * embedding(token, column);
    return sum / static_cast<float>(columns);
}

// Writes numbers into the tensors of a safetensors file in memory: weights in F16, or integers in I64.
class Weights {
  public:
    explicit Weights(std::string bytes) : bytes_(std::move(bytes)) {
        std::uint64_t size = 0;
        std::memcpy(&size, bytes_.data(), sizeof size);
        header_ = nlohmann::json::parse(bytes_.substr(sizeof size, size));
        data_ = sizeof size + size;
    }
    // value(row, column)
    template <class Value>
    void set(const std::string& name, const Value& value) {
        const auto& entry = header_.at(name);
        const auto shape = entry["shape"].get<std::vector<int>>();
        const int columns = shape.back(), rows = shape.size() > 1 ? shape.front() : 1;
        std::size_t at = data_ + entry["data_offsets"][0].get<std::size_t>();
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column)
                if (entry["dtype"] == "I64")
                    at = write(at, static_cast<std::int64_t>(value(row, column)));
                else
                    at = write(at, half_from_float(static_cast<float>(value(row, column))));
    }
    template <class Value>
    void set_all(const std::string& ending, const Value& value) {
        for (const auto& [name, entry] : header_.items())
            if (name.ends_with(ending)) set(name, value);
    }
    const std::string& bytes() const { return bytes_; }

  private:
    template <class Number>
    std::size_t write(std::size_t at, Number number) {
        std::memcpy(bytes_.data() + at, &number, sizeof number);
        return at + sizeof number;
    }

    std::string bytes_;
    nlohmann::json header_;
    std::size_t data_ = 0;
};

// Checks that all guesses for a model of the cycle are right: a broken layer would guess wrong.
inline void expect_right_guesses(const ModelSource& model, const ModelSource& layer,
                                 const MakeOps& make_ops) {
    for (const auto& [feeds, pages, layer_pages] : {std::tuple(true, 24, 200), {false, 200, 200}}) {
        Guessing guessing(model, layer, make_ops(), feeds, pages, layer_pages);
        EngineSettings settings;
        settings.scheduler = guessing.settings();
        settings.scheduler.draft_tokens = 5;
        settings.scheduler.drafter = &guessing.drafter();
        settings.scheduler.draft_pace = PassPace({{1, 1.0}, {40, 1.5}});
        Engine engine(guessing.passes(), nullptr, settings);
        for (int id = 0; id < 12; ++id) {
            Request request;
            request.id = id;
            request.prompt = {kFirst + id % 3};
            const int length = 1 + 9 * id;  // up to 100 tokens, in passes of at most 40 rows
            while (std::ssize(request.prompt) < length)
                request.prompt.push_back(follower(request.prompt.back()));
            request.max_tokens = 50;
            request.ignore_end = true;
            engine.submit(std::move(request));
        }
        int answered = 0;
        while (!engine.idle())
            for (const Outcome& outcome : engine.step()) {
                ++answered;
                std::int32_t token = kFirst + static_cast<std::int32_t>(outcome.id % 3);
                for (int i = 0; i < 9 * outcome.id; ++i) token = follower(token);
                for (const std::int32_t drawn : outcome.tokens) {
                    token = follower(token);
                    ASSERT_EQ(drawn, token) << outcome.id;
                }
                EXPECT_EQ(outcome.tokens.size(), 50U);
            }
        EXPECT_EQ(answered, 12);
        const EngineCounters counters = engine.counters();
        EXPECT_EQ(counters.right_tokens, counters.drafted_tokens);
        EXPECT_GT(counters.right_tokens, 12 * 50 / 6);
        if (pages < 100) {
            EXPECT_GT(counters.scheduler.preemptions, 0);
        }
    }
}

}  // namespace voltpile::llm::predicting
