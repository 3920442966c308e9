// The layer of a model that predicts further tokens, against PyTorch and as what guesses for the model.
#include "llm/model/prediction_layer.h"

#include <bit>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/half.h"
#include "llm/decoder_fixture.h"
#include "llm/engine/model_drafter.h"
#include "llm/mixed_requests.h"
#include "llm/model_test_files.h"
#include "llm/ops_fixture.h"
#include "llm/single_rank_passes.h"

namespace voltpile::llm::prediction_layer_test {
namespace {

using test_files::missing;
using test_files::TestFolder;

constexpr double tolerance = 1e-5;  // as for the logits of models (decoder_golden_test.cpp)

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// data/llm/goldens/make_mtp.py
struct Predictions {
    std::vector<std::int32_t> tokens, chain;
    std::vector<float> logits;  // of the tokens but the last, then of the chain
};

Predictions load_predictions(const std::string& name) {
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

// A model with its prediction layer, on `ranks` threads that share each layer.
class PredictingModel {
  public:
    // joint: join sums over the ranks with norms.
    PredictingModel(const ModelSource& model, const ModelSource& layer, int ranks, const MakeOps& make_ops,
                    bool joint = false)
        : team_(ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            Part& part = parts_.emplace_back();
            part.ops = make_ops();
            part.links = std::make_unique<LocalLinks>(team_, rank, nullptr, nullptr, joint);
            DecoderSettings settings;
            settings.rank = rank;
            settings.ranks = ranks;
            settings.layer_end = static_cast<int>(model.config().layers);
            settings.pages = pool.pages();
            settings.limits = {300, 8, 16, 300};
            settings.prediction_logits = 300;
            part.model = std::make_unique<Decoder>(model, *part.ops, *part.links, settings);
            settings.layer_end = 1;
            settings.prediction_logits = 0;
            settings.predicts_for = part.model.get();
            part.layer = std::make_unique<Decoder>(layer, *part.ops, *part.links, settings);
            part.batch = std::make_unique<BatchBuffer>(*part.ops, settings.limits);
        }
    }

    std::vector<float> run_model(const Batch& batch) {
        return run(batch, [](Part& part) -> Decoder& { return *part.model; });
    }
    std::vector<float> run_layer(const Batch& batch) {
        return run(batch, [](Part& part) -> Decoder& { return *part.layer; });
    }

    PagePool pool{40};

  private:
    struct Part {
        std::unique_ptr<Ops> ops;
        std::unique_ptr<DecoderLinks> links;
        std::unique_ptr<Decoder> model, layer;
        std::unique_ptr<BatchBuffer> batch;
    };

    template <class Choose>
    std::vector<float> run(const Batch& batch, const Choose& choose) {
        std::vector<std::vector<float>> logits(parts_.size());
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < parts_.size(); ++i)
            threads.emplace_back([&, i] {
                const FloatRows out = choose(parts_[i]).forward(parts_[i].batch->upload(batch));
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
    std::vector<Part> parts_;
};

// Returns what the layer predicts for all tokens and the chain. Both models read the tokens in pieces.
std::vector<float> predicted(PredictingModel& model, const Predictions& golden, int piece) {
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
    std::vector<float> all;
    int logits = 0;  // of the last pass
    const auto predict = [&](std::span<const std::int32_t> tokens, int position,
                             std::vector<std::int32_t> hidden_row) {
        BatchBuilder builder;
        builder.add(own, tokens, position, WantLogits::All);
        Batch batch = builder.take();
        batch.hidden_row = std::move(hidden_row);
        logits = static_cast<int>(tokens.size());
        const std::vector<float> got = model.run_layer(batch);
        all.insert(all.end(), got.begin(), got.end());
    };
    for (int at = 1; at < count; at += piece) {
        const auto tokens = piece_of(at, count);
        std::vector<std::int32_t> rows;
        for (int position = at - 1; position < at - 1 + std::ssize(tokens); ++position)
            rows.push_back(pages.pages()[static_cast<std::size_t>(position / kv_page_tokens)] *
                               kv_page_tokens +
                           position % kv_page_tokens);
        predict(tokens, at - 1, rows);
    }
    int position = count - 1;
    for (const std::int32_t& token : golden.chain)
        predict({&token, 1}, position++, {model.pool.pages() * kv_page_tokens + logits - 1});
    return all;
}

class PredictionLayerTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Families, PredictionLayerTest, testing::Values("glm4_moe_mtp", "deepseek_v3_mtp"),
                         [](const auto& name) { return name.param; });

TEST_P(PredictionLayerTest, HasTheLogitsOfPyTorch) {
    const ModelFiles files(golden_folder(GetParam()));
    const auto layer = files.prediction_layer();
    const Predictions golden = load_predictions(GetParam());
    for (const MakeOps& make_ops : {MakeOps(make_reference_ops), MakeOps(make_cpu_ops)}) {
        PredictingModel model(files, *layer, 1, make_ops);
        const auto whole = predicted(model, golden, 300);
        EXPECT_LT(nmse(whole, golden.logits), tolerance);
        EXPECT_EQ(predicted(model, golden, 7), whole);
    }
}

TEST_P(PredictionLayerTest, AgreesWithTensorParallel) {
    const ModelFiles files(golden_folder(GetParam()));
    const auto layer = files.prediction_layer();
    const Predictions golden = load_predictions(GetParam());
    for (const bool joint : {false, true}) {
        PredictingModel model(files, *layer, 2, make_cpu_ops, joint);
        EXPECT_LT(nmse(predicted(model, golden, 20), golden.logits), tolerance) << joint;
    }
}

TEST(PredictionLayer, IsTheSameInGgufFiles) {
    const ModelFiles files(golden_folder("glm4_moe_mtp") + "/model.gguf");
    const auto layer = files.prediction_layer();
    PredictingModel model(files, *layer, 1, make_cpu_ops);
    const Predictions golden = load_predictions("glm4_moe_mtp");
    EXPECT_LT(nmse(predicted(model, golden, 300), golden.logits), tolerance);
}

TEST(PredictionLayer, SharesCopiesOfEmbeddingAndHead) {
    for (const char* const path : {"glm4_moe_mtp", "glm4_moe_mtp/model.gguf"}) {
        const ModelFiles files(golden_folder(path));
        const auto layer = files.prediction_layer();
        EXPECT_FALSE(layer->config().prediction->own_embedding);
        EXPECT_FALSE(layer->config().prediction->own_head);
        EXPECT_THROW(layer->tensor("output.weight"), std::out_of_range);
        EXPECT_EQ(layer->config().prediction->number, 2);
    }
    const ModelFiles files(golden_folder("deepseek_v3_mtp"));
    EXPECT_TRUE(files.prediction_layer()->config().prediction->own_head);
}

// ---- what it guesses

// A model, its prediction layer, and what guesses with it, on one rank.
class Guessing {
  public:
    Guessing(const ModelSource& model, const ModelSource& layer, std::unique_ptr<Ops> ops, bool feeds,
             int pages, int layer_pages, int host_pages = 0)
        : settings_(mixed_settings(pages, host_pages)), ops_(std::move(ops)) {
        settings_.feeds = feeds;
        passes_.emplace(model, *ops_, settings_, settings_.limits.logits);
        SchedulerSettings small = mixed_settings(layer_pages);
        small.feeds = feeds;
        layer_passes_.emplace(layer, *ops_, small, 0, &passes_->decoder());
        ModelDrafterSettings drafter{small.limits,           layer_pages,
                                     mixed_context,          model.config().vocab,
                                     model.config().eos_ids, PassPace({{16, 0.1}})};
        drafter.hidden_rows = pages * kv_page_tokens;
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

// Sequences share passes and prefixes, some are preempted, and some lose their pages of the layer.
TEST_P(PredictionLayerTest, ChangesNeitherTokensNorProbabilities) {
    const ModelFiles model(golden_folder(GetParam()));
    const auto layer = model.prediction_layer();
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
        Guessing guessing(model, *layer, make_cpu_ops(), feeds, pages, layer_pages);
        const EngineCounters counters =
            requests.answer_batched(guessing.passes(), pages, {}, 4, &guessing.drafter());
        EXPECT_GT(counters.drafted_tokens, 0);
        EXPECT_EQ(guessing.drafter().cache().available(), layer_pages);
        if (pages < 100) {
            EXPECT_GT(counters.scheduler.preemptions, 0);
        }
    }
}

constexpr int kFirst = 3, kWords = 61;  // tokens of the cycle: 3 to 63

std::int32_t follower(std::int32_t token) {
    return kFirst + (token - kFirst + 23) % kWords;  // one cycle, because 61 is prime
}

// Rows of a Hadamard matrix are orthogonal.
float embedding(std::int32_t token, int column) {
    return std::popcount(static_cast<unsigned>(token & column)) % 2 == 0 ? 1.0F : -1.0F;
}

// Writes weights into the tensors of a safetensors file in memory, all in F16.
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
            for (int column = 0; column < columns; ++column, at += 2) {
                const std::uint16_t half = half_from_float(value(row, column));
                std::memcpy(bytes_.data() + at, &half, sizeof half);
            }
    }
    template <class Value>
    void set_all(const std::string& ending, const Value& value) {
        for (const auto& [name, entry] : header_.items())
            if (name.ends_with(ending)) set(name, value);
    }
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
    nlohmann::json header_;
    std::size_t data_ = 0;
};

// Writes a model whose layers add nothing, so that each token has one follower, and whose prediction layer
// must know the token after the next one, from the hidden state of a token alone or from the embedding of the
// next one alone.
void write_cycle(const TestFolder& folder, bool from_hidden_state) {
    const std::string golden = golden_folder("glm4_moe_mtp");
    folder.write("config.json", text_of(golden + "/config.json"));
    Weights weights(text_of(golden + "/model.safetensors"));
    const auto zero = [](int, int) { return 0.0F; };
    const auto one = [](int, int) { return 1.0F; };
    for (const char* const ending : {"o_proj.weight", "down_proj.weight"}) weights.set_all(ending, zero);
    weights.set_all("norm.weight", one);
    const auto in_cycle = [](int token) { return token >= kFirst && token < kFirst + kWords; };
    const auto embedded = [&](int token, int column) {
        return in_cycle(token) ? embedding(token, column) : 0.0F;
    };
    weights.set_all("embed_tokens.weight", embedded);
    std::map<int, int> before;
    for (int token = kFirst; token < kFirst + kWords; ++token) before[follower(token)] = token;
    const auto head = [&](int token, int column) {
        return in_cycle(token) ? embedding(before.at(token), column) : 0.0F;
    };
    weights.set("lm_head.weight", head);
    weights.set("model.layers.2.shared_head.head.weight", head);
    weights.set("model.layers.2.eh_proj.weight", [&](int row, int column) {
        if (!from_hidden_state) return row == column ? 1.0F : 0.0F;
        if (column < 64) return 0.0F;
        float sum = 0;
        for (int token = kFirst; token < kFirst + kWords; ++token)
            sum += embedding(follower(token), row) * embedding(token, column - 64);
        return sum / 64;
    });
    folder.write("model.safetensors", weights.bytes());
}

// Checks that all guesses are right: a broken layer would guess wrong.
void expect_right_guesses(const MakeOps& make_ops) {
    for (const bool from_hidden_state : {false, true})
        for (const auto& [feeds, pages, layer_pages] : {std::tuple(true, 24, 200), {false, 200, 200}}) {
            const TestFolder folder("mtp_cycle");
            write_cycle(folder, from_hidden_state);
            const ModelFiles model(folder.path());
            const auto layer = model.prediction_layer();
            Guessing guessing(model, *layer, make_ops(), feeds, pages, layer_pages);
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

TEST(PredictionLayer, GuessesRightWhereItMustKnow) {
    expect_right_guesses(make_cpu_ops);
}

class PredictionLayerGpuTest : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU";
    }
};

INSTANTIATE_TEST_SUITE_P(Families, PredictionLayerGpuTest, testing::Values("glm4_moe_mtp", "deepseek_v3_mtp"),
                         [](const auto& name) { return name.param; });

// The tolerance is that of decoder_experts_gpu_test.cpp.
TEST_P(PredictionLayerGpuTest, HasTheLogitsOfPyTorch) {
    const ModelFiles files(golden_folder(GetParam()));
    const auto layer = files.prediction_layer();
    const Predictions golden = load_predictions(GetParam());
    for (const bool invariant : {false, true}) {
        PredictingModel model(files, *layer, 1, [&] { return gpu_ops_maker(invariant).make(); });
        for (const int piece : {300, 1, 7})
            EXPECT_LT(nmse(predicted(model, golden, piece), golden.logits), 1e-4);
    }
}

TEST(PredictionLayerGpu, GuessesRightWhereItMustKnow) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    expect_right_guesses([] { return gpu_ops_maker(false).make(); });
}

// The rows of pages that come back from host memory come back too.
TEST(PredictionLayer, GuessesAfterPagesFromHostMemory) {
    const TestFolder folder("mtp_pages");
    write_cycle(folder, true);
    const ModelFiles model(folder.path());
    const auto layer = model.prediction_layer();
    constexpr int pages = 12, prompts = 8;
    Guessing guessing(model, *layer, make_cpu_ops(), false, pages, 10, 100);
    EngineSettings settings;
    settings.scheduler = guessing.settings();
    settings.scheduler.draft_tokens = 3;
    settings.scheduler.drafter = &guessing.drafter();
    settings.scheduler.draft_pace = PassPace({{1, 1.0}, {40, 1.5}});
    Engine engine(guessing.passes(), nullptr, settings);
    for (int turn = 0; turn < 2; ++turn)
        for (int i = 0; i < prompts; ++i) {
            Request request;
            request.id = prompts * turn + i;
            request.prompt = {kFirst + i};
            while (std::ssize(request.prompt) < 70) request.prompt.push_back(follower(request.prompt.back()));
            request.max_tokens = 16;
            request.ignore_end = true;
            engine.submit(std::move(request));
            std::vector<Outcome> ended;
            while (ended.empty()) ended = engine.step();
        }
    EXPECT_GT(engine.counters().scheduler.pages_brought_back, prompts);
    EXPECT_EQ(engine.counters().right_tokens, engine.counters().drafted_tokens);
    EXPECT_GT(engine.counters().right_tokens, 2 * prompts * 16 / 3);
}

// ---- bad input

// Returns the error of opening the prediction layer of a model of which one text in the header of the weights
// is another of the same length.
std::string message_with(std::string_view text, std::string_view other) {
    const TestFolder folder("mtp_bad");
    const std::string golden = golden_folder("glm4_moe_mtp");
    folder.write("config.json", text_of(golden + "/config.json"));
    std::string bytes = text_of(golden + "/model.safetensors");
    bytes.replace(bytes.find(text), text.size(), other);
    folder.write("model.safetensors", bytes);
    const ModelFiles model(folder.path());  // does not need the layer
    try {
        model.prediction_layer();
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(PredictionLayer, NamesMissingAndWrongTensors) {
    for (const std::string part : {"eh_proj", "enorm", "hnorm"}) {
        const std::string message = message_with("layers.2." + part, "layers.2.x" + part.substr(1));
        EXPECT_EQ(missing("blk.2.nextn." + part + ".weight is missing", message), "");
        EXPECT_EQ(missing("a GLM 4.5 layer that predicts further tokens", message), "");
    }
    EXPECT_EQ(missing("blk.2.nextn.shared_head_norm.weight is missing",
                      message_with("layers.2.shared_head.norm", "layers.2.shared_head.nirm")),
              "");
    EXPECT_EQ(missing("blk.2.attn_k.bias is missing",
                      message_with("layers.2.self_attn.k_proj", "layers.2.self_attn.x_proj")),
              "");
    // The rest of the tensor's entry tells it from others of its shape.
    const std::string bytes = text_of(golden_folder("glm4_moe_mtp/model.safetensors"));
    const std::size_t shape = bytes.find("[64,128]", bytes.find("layers.2.eh_proj"));
    const std::string entry = bytes.substr(shape, bytes.find('}', shape) - shape);
    EXPECT_EQ(missing("blk.2.nextn.eh_proj.weight is 128 x 64 instead of 64 x 128",
                      message_with(entry, "[128,64]" + entry.substr(8))),
              "");
}

TEST(PredictionLayer, NeedsAModelThatHasOne) {
    const ModelFiles model(golden_folder("mixtral"));
    EXPECT_THROW(model.prediction_layer(), JobError);
}

}  // namespace
}  // namespace voltpile::llm::prediction_layer_test
