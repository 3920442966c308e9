// A model with the layer that predicts its tokens: a prediction layer or an EAGLE 3 head, and what guesses
// with it.
#pragma once

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/half.h"
#include "llm/decoder_fixture.h"
#include "llm/engine/model_drafter.h"
#include "llm/mixed_requests.h"
#include "llm/model/model_files.h"
#include "llm/single_rank_passes.h"

namespace voltpile::llm::predicting {

constexpr double logit_tolerance = 1e-5;  // as for the logits of models (decoder_golden_test.cpp)

inline std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// data/llm/goldens/make_mtp.py, make_eagle.py
struct Predictions {
    std::vector<std::int32_t> tokens, chain;
    // Of the tokens but the last, one layer after the other, then of the chain's tokens that the last layer
    // reads behind them.
    std::vector<float> logits;
};

inline Predictions load_predictions(const std::string& name) {
    const auto golden = nlohmann::json::parse(text_of(golden_folder(name) + "/golden.json"));
    Predictions predictions;
    predictions.tokens = golden["prompt"].get<std::vector<std::int32_t>>();
    for (const std::int32_t token : golden["greedy"]) predictions.tokens.push_back(token);
    predictions.chain = golden["chain"].get<std::vector<std::int32_t>>();
    const std::string bytes = text_of(golden_folder(name) + "/predictions.f32");
    predictions.logits.resize(bytes.size() / sizeof(float));
    std::memcpy(predictions.logits.data(), bytes.data(), bytes.size());
    return predictions;
}

// A model with its prediction layers or EAGLE 3 head, on `ranks` threads that share each layer.
class PredictingModel {
  public:
    // joint: join sums over the ranks with norms. cuts: the first layers of all pipeline stages but the
    // first; with one rank.
    PredictingModel(const ModelSource& model, const ModelSource& layer, int ranks, const MakeOps& make_ops,
                    bool joint = false, const std::vector<int>& cuts = {})
        : layers(static_cast<int>(layer.config().layers)), team_(ranks), handed_(cuts.size()) {
        DecoderSettings settings;
        settings.ranks = ranks;
        settings.pages = pool.pages();
        settings.limits = {300, 8, 16, 300};
        settings.prediction_rows = 300;
        settings.embeds_last = true;
        if (const EagleHead* const head = eagle_head_of(layer.config())) settings.read_layers = head->layers;
        std::vector<float>* from = nullptr;
        for (std::size_t stage = 0; stage < cuts.size(); ++stage) {
            settings.layer_end = cuts[stage];
            std::vector<float>* const to = &handed_[stage];
            earlier_.push_back(
                part_of(model, settings, make_ops, std::make_unique<LocalLinks>(team_, 0, from, to, joint)));
            settings.layer_begin = cuts[stage];
            from = to;
        }
        settings.layer_end = static_cast<int>(model.config().layers);
        for (int rank = 0; rank < ranks; ++rank) {
            settings.rank = rank;
            Part& part = parts_.emplace_back(part_of(
                model, settings, make_ops, std::make_unique<LocalLinks>(team_, rank, from, nullptr, joint)));
            DecoderSettings predicting = settings;
            predicting.layer_begin = 0;
            predicting.layer_end = layers;
            predicting.read_layers.clear();
            predicting.prediction_rows = 0;
            predicting.predicts_for = part.model.get();
            part.layer = std::make_unique<Decoder>(layer, *part.ops, *part.links, predicting);
            if (!settings.read_layers.empty()) part.model->fuse_with(*part.layer);
        }
    }

    std::vector<float> run_model(const Batch& batch) {
        for (Part& part : earlier_) {
            part.model->forward(part.batch->upload(batch));
            part.model->check(batch);
        }
        return run(batch, [](Part& part) -> Decoder& { return *part.model; });
    }
    std::vector<float> run_layer(const Batch& batch) {
        return run(batch, [](Part& part) -> Decoder& { return *part.layer; });
    }

    const int layers;  // prediction layers
    PagePool pool{40};

  private:
    struct Part {
        std::unique_ptr<Ops> ops;
        std::unique_ptr<DecoderLinks> links;
        std::unique_ptr<Decoder> model, layer;
        std::unique_ptr<BatchBuffer> batch;
    };

    static Part part_of(const ModelSource& model, const DecoderSettings& settings, const MakeOps& make_ops,
                        std::unique_ptr<DecoderLinks> links) {
        Part part;
        part.ops = make_ops();
        part.links = std::move(links);
        part.model = std::make_unique<Decoder>(model, *part.ops, *part.links, settings);
        part.batch = std::make_unique<BatchBuffer>(*part.ops, settings.limits);
        return part;
    }

    template <class Choose>
    std::vector<float> run(const Batch& batch, const Choose& choose) {
        std::vector<std::vector<float>> logits(parts_.size());
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < parts_.size(); ++i)
            threads.emplace_back([&, i] {
                const FloatRows out =
                    choose(parts_[i]).forward(parts_[i].batch->upload(batch), batch.prediction_layer);
                logits[i].resize(static_cast<std::size_t>(out.rows * out.columns));
                parts_[i].ops->download(logits[i].data(), out.data, logits[i].size() * sizeof(float));
            });
        for (std::thread& thread : threads) thread.join();
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            choose(parts_[i]).check(batch);
            EXPECT_EQ(logits[i], logits.back());
        }
        return logits.back();
    }

    LocalTeam team_;
    std::vector<std::vector<float>> handed_;  // from stage to stage
    std::vector<Part> earlier_;               // stages
    std::vector<Part> parts_;                 // ranks of the last stage
};

// Returns what the layers predict for all tokens and the chain. Both models read the tokens in pieces.
inline std::vector<float> predicted(PredictingModel& model, const Predictions& golden, int piece) {
    const auto count = static_cast<int>(golden.tokens.size());
    SequencePages other(model.pool), pages(model.pool), own(model.pool);
    EXPECT_TRUE(other.reserve(20) && pages.reserve(count) && own.reserve(count + 8));
    const auto piece_of = [&](int begin, int end) {
        return std::span(golden.tokens)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(piece, end - begin)));
    };
    for (int at = 0; at < count; at += piece) {
        BatchBuilder builder;
        builder.add(pages, piece_of(at, count), at, WantLogits::None);
        model.run_model(builder.take());
    }
    std::vector<std::int32_t> known = golden.tokens;  // and guesses
    known.insert(known.end(), golden.chain.begin(), golden.chain.end());
    std::vector<std::vector<float>> logits(static_cast<std::size_t>(model.layers));
    int last_rows = 0;  // of the last pass
    const auto predict = [&](int layer, int begin, int rows, std::vector<std::int32_t> hidden_row) {
        BatchBuilder builder;
        builder.add(own,
                    std::span(known).subspan(static_cast<std::size_t>(begin + 1 + layer),
                                             static_cast<std::size_t>(rows)),
                    begin, WantLogits::All);
        Batch batch = builder.take();
        batch.hidden_row = std::move(hidden_row);
        batch.prediction_layer = layer;
        last_rows = rows;
        const std::vector<float> got = model.run_layer(batch);
        std::vector<float>& all = logits[static_cast<std::size_t>(layer)];
        all.insert(all.end(), got.begin(), got.end());
    };
    const auto of_last_pass = [&](int row) { return model.pool.pages() * kv_page_tokens + row; };
    for (int begin = 0; begin < count - 1; begin += piece) {
        const int rows = std::min(piece, count - 1 - begin);
        for (int layer = 0; layer < model.layers; ++layer) {
            std::vector<std::int32_t> hidden_row;
            for (int row = 0; row < rows; ++row) {
                const int position = begin + row;
                const std::int32_t page = pages.pages()[static_cast<std::size_t>(position / kv_page_tokens)];
                hidden_row.push_back(layer > 0 ? of_last_pass(row)
                                               : page * kv_page_tokens + position % kv_page_tokens);
            }
            predict(layer, begin, rows, hidden_row);
        }
    }
    for (int position = count - 1; position + model.layers < static_cast<int>(known.size()); ++position)
        predict(model.layers - 1, position, 1, {of_last_pass(last_rows - 1)});
    std::vector<float> all;
    for (const std::vector<float>& each : logits) all.insert(all.end(), each.begin(), each.end());
    return all;
}

// A model, its prediction layers or EAGLE 3 head, and what guesses with them, on one rank.
class Guessing {
  public:
    Guessing(const ModelSource& model, const ModelSource& layer, std::unique_ptr<Ops> ops, bool feeds,
             int pages, int layer_pages, int host_pages = 0)
        : settings_(mixed_settings(pages, host_pages)), ops_(std::move(ops)) {
        settings_.feeds = feeds;
        const EagleHead* const head = eagle_head_of(layer.config());
        SchedulerSettings small = mixed_settings(layer_pages);
        small.feeds = feeds;
        passes_.emplace(model, *ops_, settings_, small.limits.rows, nullptr,
                        head != nullptr ? head->layers : std::vector<int>());
        layer_passes_.emplace(layer, *ops_, small, 0, &passes_->decoder());
        if (head != nullptr) passes_->decoder().fuse_with(layer_passes_->decoder());
        ModelDrafterSettings drafter{small.limits,           layer_pages,
                                     mixed_context,          model.config().vocab,
                                     model.config().eos_ids, PassPace({{16, 0.1}})};
        drafter.hidden_rows = pages * kv_page_tokens;
        drafter.layers = static_cast<int>(layer.config().layers);
        if (head != nullptr) drafter.tokens = DraftTokens(head->tokens);
        drafter_.emplace(*layer_passes_, drafter);
    }
    PassExecutor& passes() { return *passes_; }
    ModelDrafter& drafter() { return *drafter_; }
    const SchedulerSettings& settings() const { return settings_; }

  private:
    SchedulerSettings settings_;
    std::unique_ptr<Ops> ops_;
    std::optional<SingleRankPasses> passes_, layer_passes_;
    std::optional<ModelDrafter> drafter_;
};

// Checks that guesses change no token: sequences share passes and prefixes, some are preempted, and some lose
// their pages of the layer.
inline void expect_same_tokens(const ModelSource& model, const ModelSource& layer) {
    MixedRequests requests(model.config(), nullptr);
    std::vector<std::int32_t> tokens(300);
    for (int i = 0; i < 300; ++i) tokens[static_cast<std::size_t>(i)] = (7919 * i + 17) % 160;
    CpuOps ops({-1});
    SchedulerSettings alone = mixed_settings(12);
    alone.limits.rows = mixed_context;
    SingleRankPasses passes(model, ops, alone);
    requests.answer_unbatched(passes, tokens, 40);
    for (const auto& [feeds, pages, layer_pages] :
         {std::tuple(true, 12, 200), {false, 12, 12}, {true, 200, 200}, {false, 200, 12}}) {
        Guessing guessing(model, layer, make_cpu_ops(), feeds, pages, layer_pages);
        const EngineCounters counters =
            requests.answer_batched(guessing.passes(), pages, {}, 4, &guessing.drafter());
        EXPECT_GT(counters.drafted_tokens, 0);
        EXPECT_EQ(guessing.drafter().cache().available(), layer_pages);
        if (pages < 100) {
            EXPECT_GT(counters.scheduler.preemptions, 0);
        }
    }
}

}  // namespace voltpile::llm::predicting
