// Runs many sequences at once on the ranks of a replica. Runs under mpirun on 1 to 4 ranks
// (tests/CMakeLists.txt).
#include "llm/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/cycle_models.h"
#include "llm/replica/pass_message.h"
#include "llm/session/draft_model.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::session;
using test::world;

namespace {

const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";

// Each prompt several times, so that there are more sequences than run at once, in a cache that is too small
// for those. The expected tokens come from transformers.
void write_all(Engine& engine, const nlohmann::json& texts) {
    constexpr int copies = 5;
    for (int i = 0; i < copies * static_cast<int>(texts.size()); ++i) {
        const auto& text = texts[static_cast<std::size_t>(i) % texts.size()];
        Request request;
        request.id = i;
        request.prompt = text["prompt_ids"].get<std::vector<std::int32_t>>();
        request.max_tokens = static_cast<int>(text["ids"].size()) - i % 3;
        engine.submit(std::move(request));
    }
    int answered = 0;
    while (!engine.idle())
        for (const Outcome& outcome : engine.step()) {
            const auto& text = texts[static_cast<std::size_t>(outcome.id) % texts.size()];
            auto wanted = text["ids"].get<std::vector<std::int32_t>>();
            wanted.resize(wanted.size() - static_cast<std::size_t>(outcome.id % 3));
            EXPECT_EQ(outcome.tokens, wanted) << outcome.id;
            ++answered;
        }
    EXPECT_EQ(answered, copies * static_cast<int>(texts.size()));
    EXPECT_GT(engine.counters().largest_batch, 1);
}

void write_over(int tensor, int pipeline, Speculate speculate, const std::string& draft_file = "") {
    const auto model = LanguageModel::open(world(), {.path = folder + "tiny-f16.gguf"});
    const auto expected = nlohmann::json::parse(std::ifstream(folder + "expected.json"))["f16"]["greedy"];
    ReplicaRequest request;
    request.tensor = tensor;
    request.pipeline = pipeline;
    request.device = DeviceChoice::Cpu;
    request.context = 128;
    request.sequences = 6;
    request.cache_tokens = 300;
    request.rows = 40;
    request.logits = request.sequences;
    request.speculate = speculate;
    request.draft_tokens = 5;
    std::unique_ptr<LanguageModel> draft;
    if (!draft_file.empty()) draft = open_draft(&world(), {.path = folder + draft_file}, *model, request);
    const ReplicaPlan plan = agreed_plan(session(), model->source(), request);
    with_session(session(), *model, plan, [&](Session& here) {
        here.answer({.many = true}, [&](Engine& engine) { write_all(engine, expected); });
    });
}

TEST(ReplicaPasses, ContinueLikeTransformers) {
    const int ranks = world().size();
    for (int tensor = 1; tensor <= ranks; tensor *= 2) {
        if (ranks % tensor != 0) break;
        SCOPED_TRACE(tensor);
        write_over(tensor, ranks / tensor, Speculate::Off);
        write_over(tensor, ranks / tensor, Speculate::Ngram);
        write_over(tensor, ranks / tensor, Speculate::Draft, "tiny-q8_0.gguf");
    }
}

// The cuts of a model with two layers over the ranks of the world.
std::vector<std::pair<int, int>> cuts_of_two_layers() {
    std::vector<std::pair<int, int>> cuts;  // ranks of a group, stages
    for (const int tensor : {1, 2})
        for (const int pipeline : {1, 2})
            if (tensor * pipeline <= world().size()) cuts.emplace_back(tensor, pipeline);
    return cuts;
}

// The layers of a model that predict further tokens guess on all ranks of the last stage. The expected tokens
// come from transformers.
void write_with_prediction_layers(const std::string& name) {
    const auto model = LanguageModel::open(world(), {.path = name});
    const auto golden = nlohmann::json::parse(std::ifstream(name + "/golden.json"));
    const nlohmann::json texts = {{{"prompt_ids", golden["prompt"]}, {"ids", golden["greedy"]}}};
    ReplicaRequest request;
    request.device = DeviceChoice::Cpu;
    request.context = 64;
    request.sequences = 3;
    request.rows = 40;
    request.logits = request.sequences;
    request.speculate = Speculate::Mtp;
    request.draft_tokens = 3;
    open_prediction_layers(&world(), *model, request);
    for (const auto& [tensor, pipeline] : cuts_of_two_layers()) {
        SCOPED_TRACE(fmt::format("TP{} x PP{}", tensor, pipeline));
        request.tensor = tensor;
        request.pipeline = pipeline;
        const ReplicaPlan plan = agreed_plan(session(), model->source(), request);
        with_session(session(), *model, plan, [&](Session& here) {
            here.answer({.many = true, .text = false}, [&](Engine& engine) { write_all(engine, texts); });
        });
    }
}

TEST(ReplicaPasses, ContinueLikeTransformersWithPredictionLayers) {
    for (const char* const name : {"glm4_moe_mtp", "glm4_moe_two_mtp"}) {
        SCOPED_TRACE(name);
        write_with_prediction_layers(VOLTPILE_SOURCE_DIR "/data/llm/goldens/" + std::string(name));
    }
}

// Continues the cycle of tokens. Returns the engine's counters.
EngineCounters follow_cycle(Engine& engine) {
    for (int i = 0; i < 6; ++i) {
        Request request;
        request.id = i;
        request.prompt = {predicting::kFirst + i};
        request.max_tokens = 40;
        request.ignore_end = true;
        engine.submit(std::move(request));
    }
    while (!engine.idle())
        for (const Outcome& outcome : engine.step()) {
            auto token = static_cast<std::int32_t>(predicting::kFirst + outcome.id);
            for (const std::int32_t drawn : outcome.tokens) {
                token = predicting::follower(token);
                EXPECT_EQ(drawn, token) << outcome.id;
            }
        }
    return engine.counters();
}

// Calls `lead` with an engine whose guesses pay by assumption: whether they do by measure depends on the
// machine. drafting: what depends on the kind of guesser.
void guess_always(const Replica& replica, const ModelConfig& model, ReplicaPasses& passes,
                  PassExecutor& draft, ModelDrafterSettings drafting,
                  const std::function<void(Engine&)>& lead) {
    const Replica& guesser = *replica.draft();
    drafting.limits = guesser.request().limits();
    drafting.pages = guesser.plan().pages;
    drafting.context = guesser.request().context;
    drafting.vocabulary = model.vocab;
    drafting.pace = PassPace({{16, 0.1}});
    ModelDrafter drafter(draft, drafting);
    EngineSettings settings;
    settings.scheduler = passes.settings();
    settings.scheduler.drafter = &drafter;
    settings.scheduler.drafts_beside_passes = replica.draft_link() != nullptr;
    settings.scheduler.draft_pace = PassPace({{1, 1.0}, {40, 1.5}});
    settings.end_ids = model.eos_ids;
    settings.vocabulary = model.vocab;
    Engine engine(passes, nullptr, settings);
    lead(engine);
}

EngineCounters follow_cycle(const Replica& replica, const ModelConfig& model, ReplicaPasses& passes,
                            PassExecutor& draft) {
    ModelDrafterSettings drafting;
    drafting.hidden_rows = replica.plan().pages * kv_page_tokens;
    drafting.layers = static_cast<int>(replica.request().draft->config().layers);
    if (const EagleHead* const head = eagle_head_of(replica.request().draft->config()))
        drafting.tokens = DraftTokens(head->tokens);
    EngineCounters counters;
    guess_always(replica, model, passes, draft, drafting,
                 [&](Engine& engine) { counters = follow_cycle(engine); });
    return counters;
}

// Checks that all guesses for a model of the cycle are right. least: guesses that are checked.
void expect_right_guesses(const LanguageModel& model, const ReplicaRequest& request, int least) {
    with_replica(
        session(), model.source(), agreed_plan(session(), model.source(), request), [&](Replica& replica) {
            run_passes_with_draft(replica, [&](ReplicaPasses& passes, PassExecutor* draft) {
                const EngineCounters counters = follow_cycle(replica, model.config(), passes, *draft);
                EXPECT_EQ(counters.right_tokens, counters.drafted_tokens);
                EXPECT_GT(counters.right_tokens, least);
            });
        });
}

// With several stages a sequence gets guesses while it is alone in flight.
void set_cut(ReplicaRequest& request, int tensor, int pipeline) {
    request.tensor = tensor;
    request.pipeline = pipeline;
    request.sequences = request.logits = pipeline > 1 ? 1 : 3;
}

ReplicaRequest cycle_request() {
    ReplicaRequest request;
    request.device = DeviceChoice::Cpu;
    request.context = 64;
    request.sequences = request.logits = 3;
    request.rows = 40;
    request.draft_tokens = 3;
    return request;
}

// Guesses of an EAGLE 3 head count, on all ranks of the last stage.
TEST(ReplicaPasses, AcceptRightGuessesOfAnEagleHead) {
    const test_files::TestFolder path("replica_cycle"), head("replica_cycle_head");
    predicting::write_eagle_cycle(path, head, true);
    const auto model = LanguageModel::open(world(), {.path = path.path()});
    ReplicaRequest request = cycle_request();
    const auto opened = open_draft(&world(), {.path = head.path()}, *model, request);
    for (const auto& [tensor, pipeline] : cuts_of_two_layers()) {
        SCOPED_TRACE(fmt::format("TP{} x PP{}", tensor, pipeline));
        set_cut(request, tensor, pipeline);
        expect_right_guesses(*model, request, 6 * 40 / 4);
    }
}

// The same of a prediction layer.
TEST(ReplicaPasses, AcceptRightGuessesOfAPredictionLayer) {
    for (const int layers : {1, 2}) {
        const test_files::TestFolder path("replica_cycle");
        if (layers == 1)
            predicting::write_prediction_cycle(path, true);
        else
            predicting::write_cycle_of_two_layers(path, false, true);
        const auto model = LanguageModel::open(world(), {.path = path.path()});
        ReplicaRequest request = cycle_request();
        request.speculate = Speculate::Mtp;
        open_prediction_layers(&world(), *model, request);
        for (const auto& [tensor, pipeline] : cuts_of_two_layers()) {
            SCOPED_TRACE(fmt::format("TP{} x PP{}, {} layers", tensor, pipeline, layers));
            set_cut(request, tensor, pipeline);
            expect_right_guesses(*model, request, 6 * 40 / 4);
        }
    }
}

// A draft model on the last ranks, for a model on the first ones. The expected tokens come from transformers,
// and most guesses are right, because both models have the same weights but for their rounding.
TEST(ReplicaPasses, ContinueLikeTransformersWithADraftOnItsOwnRanks) {
    const auto model = LanguageModel::open(world(), {.path = folder + "tiny-f16.gguf"});
    const auto expected = nlohmann::json::parse(std::ifstream(folder + "expected.json"))["f16"]["greedy"];
    for (const auto& [tensor, pipeline, own] :
         {std::tuple(1, 1, 1), std::tuple(1, 1, 2), std::tuple(2, 1, 1), std::tuple(2, 1, 2),
          std::tuple(1, 2, 2), std::tuple(1, 3, 1)}) {
        if (tensor * pipeline + own > world().size()) continue;  // ranks between them stay idle
        SCOPED_TRACE(fmt::format("TP{} x PP{} and {}", tensor, pipeline, own));
        ReplicaRequest request = cycle_request();
        request.context = 128;
        request.cache_tokens = 300;
        request.sequences = request.logits = 6;
        request.tensor = tensor;
        request.pipeline = pipeline;
        request.draft_ranks = own;
        const auto draft = open_draft(&world(), {.path = folder + "tiny-q8_0.gguf"}, *model, request);
        with_replica(
            session(), model->source(), agreed_plan(session(), model->source(), request),
            [&](Replica& replica) {
                EXPECT_FALSE(replica.helps());
                for (int turn = 0; turn < 2; ++turn)  // the draft's ranks stay for the next engine
                    run_passes_with_draft(replica, [&](ReplicaPasses& passes, PassExecutor* guesses) {
                        ASSERT_NE(guesses, nullptr);
                        guess_always(replica, model->config(), passes, *guesses, {}, [&](Engine& engine) {
                            write_all(engine, expected);
                            const EngineCounters counters = engine.counters();
                            EXPECT_GT(counters.right_tokens, 100);
                            EXPECT_GT(counters.right_tokens, counters.drafted_tokens / 2);
                        });
                    });
            });
    }
}

TEST(PassMessage, RejectsTheWrongLength) {
    PlannedPass pass;
    EXPECT_THROW(pass_from_bytes(to_bytes(pass) + "x"), CommError);
    EXPECT_THROW(pass_from_bytes(to_bytes(pass).substr(1)), CommError);
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
