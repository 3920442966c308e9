// Decoders for tests: golden models, and teams of ranks as threads of one process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "llm/decoder/batch_builder.h"
#include "llm/decoder/decoder.h"
#include "llm/model/model_files.h"
#include "llm/ops/cpu/cpu_ops.h"
#include "llm/ops/reference_ops.h"

namespace voltpile::llm {

struct Golden {
    std::vector<std::int32_t> tokens;  // the prompt, and its continuation by transformers
    std::size_t prompt = 0;            // tokens of the prompt
    std::vector<float> logits;         // after each token
};

inline std::string golden_folder(const std::string& name) {
    return VOLTPILE_SOURCE_DIR "/data/llm/goldens/" + name;
}

inline Golden load_golden(const std::string& name) {
    std::ifstream file(golden_folder(name) + "/golden.json");
    const auto golden_json = nlohmann::json::parse(file);
    Golden golden;
    golden.tokens = golden_json["prompt"].get<std::vector<std::int32_t>>();
    golden.prompt = golden.tokens.size();
    for (const std::int32_t token : golden_json["greedy"]) golden.tokens.push_back(token);
    golden.logits.resize(golden_json["logits"]["shape"][0].get<std::size_t>() *
                         golden_json["logits"]["shape"][1].get<std::size_t>());
    std::ifstream logits(golden_folder(name) + "/logits.f32", std::ios::binary);
    logits.read(reinterpret_cast<char*>(golden.logits.data()),
                static_cast<std::streamsize>(golden.logits.size() * sizeof(float)));
    return golden;
}

inline double nmse(std::span<const float> got, std::span<const float> wanted) {
    if (got.size() != wanted.size() || got.empty()) return INFINITY;
    double error = 0, square = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        error += std::pow(static_cast<double>(got[i]) - static_cast<double>(wanted[i]), 2);
        square += std::pow(static_cast<double>(wanted[i]), 2);
    }
    return error / square;
}

// The threads of one tensor-parallel group.
class LocalTeam {
  public:
    explicit LocalTeam(int ranks) : barrier_(ranks), place_(static_cast<std::size_t>(ranks)) {}

    // Publishes `mine`, waits until all ranks have done so, calls `work`, and waits until all are done.
    template <class Work>
    void exchange(int rank, FloatRows mine, const Work& work) {
        place_[static_cast<std::size_t>(rank)] = mine;
        barrier_.arrive_and_wait();
        work();
        barrier_.arrive_and_wait();
    }
    const std::vector<FloatRows>& places() const { return place_; }
    int size() const { return static_cast<int>(place_.size()); }

  private:
    std::barrier<> barrier_;
    std::vector<FloatRows> place_;
};

class LocalLinks final : public DecoderLinks {
  public:
    // from_previous, to_next: the hidden states that the previous stage and this stage write. joint: join
    // sums with norms, by reference operations.
    LocalLinks(LocalTeam& team, int rank, std::vector<float>* from_previous, std::vector<float>* to_next,
               bool joint = false)
        : team_(team),
          rank_(rank),
          from_previous_(from_previous),
          to_next_(to_next),
          joint_(joint),
          normed_(joint ? 1 << 20 : 0) {}

    // With several ranks, x must be in host memory.
    void all_reduce(FloatRows x) override {
        if (team_.places().size() == 1) return;
        std::vector<float> sum(static_cast<std::size_t>(x.rows * x.columns));
        team_.exchange(rank_, x, [&] {
            for (const FloatRows& other : team_.places()) {
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other.data[i];
            }
        });
        std::copy(sum.begin(), sum.end(), x.data);
    }
    void* joint_output() override { return joint_ ? normed_.data() : nullptr; }
    // Rows of x that other ranks own become NaN: nothing may use them.
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                      SentinelPlace place) override {
        all_reduce(delta);
        const auto part = [&](FloatRows rows, int rank) {
            if (!splits(x)) return rows;
            const std::int64_t begin = std::min(rank * share(x), x.rows);
            return FloatRows{rows.data + begin * x.columns, std::min(share(x), x.rows - begin), x.columns};
        };
        const FloatRows normed{normed_.data(), x.rows, x.columns}, mine = part(x, rank_);
        reference_.add_rms_norm(mine, {part(delta, rank_), delta.bias}, weight, eps,
                                {part(normed, rank_).data, mine.rows, x.columns}, place);
        EXPECT_FALSE(reference_.take_sentinel().tripped);
        if (!splits(x)) return;
        team_.exchange(rank_, normed, [&] {
            for (int rank = 0; rank < team_.size(); ++rank) {
                if (rank == rank_) continue;
                const FloatRows theirs = part(team_.places()[static_cast<std::size_t>(rank)], rank);
                std::copy_n(theirs.data, theirs.rows * x.columns, part(normed, rank).data);
                const FloatRows lost = part(x, rank);
                std::fill_n(lost.data, lost.rows * x.columns, NAN);
            }
        });
    }
    void complete(FloatRows x) override {
        if (splits(x)) all_gather({x.data + rank_ * share(x) * x.columns, share(x), x.columns}, x);
    }
    void all_gather(FloatRows part, FloatRows parts) override {
        const std::int64_t count = part.rows * part.columns;
        team_.exchange(rank_, part, [&] {
            float* to = parts.data;
            for (const FloatRows& other : team_.places()) to = std::copy_n(other.data, count, to);
        });
    }
    void all_to_all(HiddenRows in, HiddenRows out) override {
        const std::int64_t piece = in.rows / team_.size() * in.columns;
        team_.exchange(rank_, {static_cast<float*>(in.data), in.rows, in.columns}, [&] {
            auto* to = static_cast<float*>(out.data);
            for (const FloatRows& other : team_.places())
                to = std::copy_n(other.data + rank_ * piece, piece, to);
        });
    }
    // Hidden states are fp32 here. x need not be complete.
    void send_to_next(FloatRows x, HiddenRows states) override {
        if (joint_) complete(x);
        to_next_->assign(x.data, x.data + x.rows * x.columns);
        const auto* const more = static_cast<const float*>(states.data);
        to_next_->insert(to_next_->end(), more, more + states.rows * states.columns);
    }
    void receive_from_previous(FloatRows x, HiddenRows states) override {
        ASSERT_EQ(std::ssize(*from_previous_), x.rows * x.columns + states.rows * states.columns);
        std::copy_n(from_previous_->begin(), x.rows * x.columns, x.data);
        std::copy_n(from_previous_->begin() + x.rows * x.columns, states.rows * states.columns,
                    static_cast<float*>(states.data));
    }

  private:
    std::int64_t share(FloatRows x) const { return (x.rows + team_.size() - 1) / team_.size(); }
    bool splits(FloatRows x) const { return x.rows > 2; }

    LocalTeam& team_;
    int rank_;
    std::vector<float>* from_previous_;
    std::vector<float>* to_next_;
    bool joint_;
    std::vector<float> normed_;
    ReferenceOps reference_;
};

using MakeOps = std::function<std::unique_ptr<Ops>()>;
inline std::unique_ptr<Ops> make_cpu_ops() {
    return std::make_unique<CpuOps>(std::vector<int>{-1});
}
inline std::unique_ptr<Ops> make_reference_ops() {
    return std::make_unique<ReferenceOps>();
}

// Runs a model with `ranks` threads for each stage. stage_begin: the first layer of each stage.
class TestModel {
  public:
    TestModel(const ModelSource& model, int ranks, std::vector<int> stage_begin, const MakeOps& make_ops,
              KvElement cache = KvElement::F16, int experts_on_host = 0, int streamed_rows = 0,
              bool joint_sums = false, int rows_to_cut = 0)
        : ranks_(ranks) {
        stage_begin.push_back(static_cast<int>(model.config().layers));
        for (std::size_t s = 0; s + 1 < stage_begin.size(); ++s) {
            teams_.push_back(std::make_unique<LocalTeam>(ranks));
            for (int rank = 0; rank < ranks; ++rank) {
                const std::size_t here = parts_.size();
                handed_.push_back(std::make_unique<std::vector<float>>());
                auto& part = parts_.emplace_back();
                part.ops = make_ops();
                part.links = std::make_unique<LocalLinks>(
                    *teams_.back(), rank,
                    s == 0 ? nullptr : handed_[here - static_cast<std::size_t>(ranks)].get(),
                    handed_[here].get(), joint_sums);
                DecoderSettings settings;
                settings.rank = rank;
                settings.ranks = ranks;
                settings.layer_begin = stage_begin[s];
                settings.layer_end = stage_begin[s + 1];
                settings.pages = pool.pages();
                settings.cache = cache;
                settings.experts_on_host = experts_on_host;
                settings.streamed_rows = streamed_rows;
                settings.rows_to_cut = rows_to_cut;
                settings.limits = {300, 8, 16, 300};
                part.decoder = std::make_unique<Decoder>(model, *part.ops, *part.links, settings);
                part.batch = std::make_unique<BatchBuffer>(*part.ops, settings.limits);
            }
        }
    }

    // Runs a batch and returns the logits, which must be equal on all ranks of the last stage.
    std::vector<float> run(const Batch& batch) {
        std::vector<std::vector<float>> logits(parts_.size());
        for (std::size_t first = 0; first < parts_.size(); first += static_cast<std::size_t>(ranks_)) {
            std::vector<std::thread> threads;
            for (std::size_t i = first; i < first + static_cast<std::size_t>(ranks_); ++i) {
                threads.emplace_back([&, i] {
                    const FloatRows out = parts_[i].decoder->forward(parts_[i].batch->upload(batch));
                    logits[i].resize(static_cast<std::size_t>(out.rows * out.columns));
                    parts_[i].ops->download(logits[i].data(), out.data, logits[i].size() * sizeof(float));
                });
            }
            for (std::thread& thread : threads) thread.join();
        }
        for (std::size_t i = parts_.size() - static_cast<std::size_t>(ranks_); i < parts_.size(); ++i) {
            parts_[i].decoder->check(batch);
            EXPECT_EQ(logits[i], logits.back());
        }
        return logits.back();
    }

    // Runs the tokens in pieces of the given sizes, repeating the last size, and returns all logits.
    std::vector<float> run_in_pieces(std::span<const std::int32_t> tokens, std::vector<int> sizes,
                                     int adapter = -1) {
        SequencePages pages(pool);
        EXPECT_TRUE(pages.reserve(static_cast<int>(tokens.size())));
        std::vector<float> all;
        std::size_t piece = 0;
        for (std::size_t at = 0; at < tokens.size(); ++piece) {
            const auto wanted = static_cast<std::size_t>(sizes[std::min(piece, sizes.size() - 1)]);
            const std::size_t count = std::min(wanted, tokens.size() - at);
            BatchBuilder builder;
            builder.add(pages, tokens.subspan(at, count), static_cast<int>(at), WantLogits::All, adapter);
            const auto logits = run(builder.take());
            all.insert(all.end(), logits.begin(), logits.end());
            at += count;
        }
        return all;
    }

    // Returns the greedy continuation of a prompt.
    std::vector<std::int32_t> continue_greedily(std::vector<std::int32_t> tokens, std::size_t count) {
        SequencePages pages(pool);
        EXPECT_TRUE(pages.reserve(static_cast<int>(tokens.size() + count)));
        std::vector<std::int32_t> chosen;
        int position = 0;
        while (chosen.size() < count) {
            BatchBuilder builder;
            builder.add(pages, tokens, position, WantLogits::Last);
            position += static_cast<int>(tokens.size());
            const auto logits = run(builder.take());
            chosen.push_back(
                static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
            tokens = {chosen.back()};
        }
        return chosen;
    }

    PagePool pool{40};

  private:
    struct Part {
        std::unique_ptr<Ops> ops;
        std::unique_ptr<DecoderLinks> links;
        std::unique_ptr<Decoder> decoder;
        std::unique_ptr<BatchBuffer> batch;
    };
    int ranks_;
    std::vector<std::unique_ptr<LocalTeam>> teams_;
    std::vector<std::unique_ptr<std::vector<float>>> handed_;
    std::vector<Part> parts_;
};

}  // namespace voltpile::llm
