// Runs passes on one rank with the whole model, each as soon as it is enqueued.
#pragma once

#include <deque>

#include "llm/decoder/decoder.h"
#include "llm/decoder/pass_runner.h"
#include "llm/engine/engine.h"

namespace voltpile::llm {

class SingleRankPasses final : public PassExecutor {
  public:
    // Takes lanes and feeds from `settings`, to act like a pipeline with several stages. prediction_rows,
    // predicts_for, read_layers: see DecoderSettings.
    SingleRankPasses(const ModelSource& model, Ops& ops, const SchedulerSettings& settings,
                     int prediction_rows = 0, const Decoder* predicts_for = nullptr,
                     const std::vector<int>& read_layers = {})
        : settings_(settings),
          decoder_(model, ops, links_,
                   decoder_settings(model, settings, prediction_rows, predicts_for, read_layers)),
          runner_(decoder_, ops, settings.limits) {}

    Decoder& decoder() { return decoder_; }

    int lanes() const override { return settings_.lanes; }
    bool feeds() const override { return settings_.feeds; }

    void enqueue(const PlannedPass& pass) override {
        Batch batch = pass.batch;
        for (std::int32_t& token : batch.token)
            if (token < 0) token = last_drawn_.at(static_cast<std::size_t>(-1 - token)).token;
        if (!pass.moves.empty()) decoder_.move_pages(pass.moves);
        if (pass.draws_later) {
            runner_.enqueue_logits(batch);
        } else {
            runner_.enqueue(batch, rows_of(pass.draws));
            take_draws();
        }
        decoder_.check(batch);
    }
    void draw(const std::vector<Draw>& draws) override {
        runner_.draw(rows_of(draws));
        take_draws();
    }
    std::vector<DrawnToken> collect() override {
        auto drawn = std::move(drawn_.front());
        drawn_.pop_front();
        return drawn;
    }

  private:
    static std::vector<SamplingRow> rows_of(const std::vector<Draw>& draws) {
        std::vector<SamplingRow> rows;
        for (const Draw& draw : draws)
            rows.push_back({draw.settings.get(), draw.step, draw.history.get(), 0, draw.mask.get()});
        return rows;
    }
    void take_draws() {
        last_drawn_ = runner_.send_draws().wait().tokens;
        drawn_.push_back(last_drawn_);
    }
    static DecoderSettings decoder_settings(const ModelSource& model, const SchedulerSettings& settings,
                                            int prediction_rows, const Decoder* predicts_for,
                                            const std::vector<int>& read_layers) {
        DecoderSettings decoder;
        decoder.layer_end = static_cast<int>(model.config().layers);
        decoder.pages = settings.pages;
        decoder.host_pages = settings.host_pages;
        decoder.limits = settings.limits;
        decoder.prediction_rows = prediction_rows;
        decoder.predicts_for = predicts_for;
        decoder.read_layers = read_layers;
        return decoder;
    }

    SchedulerSettings settings_;
    NoLinks links_;
    Decoder decoder_;
    PassRunner runner_;
    std::vector<DrawnToken> last_drawn_;
    std::deque<std::vector<DrawnToken>> drawn_;
};

}  // namespace voltpile::llm
