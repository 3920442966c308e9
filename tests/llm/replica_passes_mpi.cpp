// Runs many sequences at once on the ranks of a replica. Runs under mpirun on 1 to 4 ranks
// (tests/CMakeLists.txt).
#include "llm/session/session.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
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

// The layer of a model that predicts further tokens guesses on all ranks of a tensor-parallel group. The
// expected tokens come from transformers.
TEST(ReplicaPasses, ContinueLikeTransformersWithAPredictionLayer) {
    const std::string name = VOLTPILE_SOURCE_DIR "/data/llm/goldens/glm4_moe_mtp";
    const auto model = LanguageModel::open(world(), {.path = name});
    const auto golden = nlohmann::json::parse(std::ifstream(name + "/golden.json"));
    const nlohmann::json texts = {{{"prompt_ids", golden["prompt"]}, {"ids", golden["greedy"]}}};
    ReplicaRequest request;
    request.tensor = std::min(world().size(), 2);
    request.device = DeviceChoice::Cpu;
    request.context = 64;
    request.sequences = 3;
    request.rows = 40;
    request.logits = request.sequences;
    request.speculate = Speculate::Mtp;
    request.draft_tokens = 3;
    open_prediction_layer(&world(), *model, request);
    const ReplicaPlan plan = agreed_plan(session(), model->source(), request);
    EXPECT_EQ(plan.plan.teams.pipeline, 1);
    with_session(session(), *model, plan, [&](Session& here) {
        here.answer({.many = true, .text = false}, [&](Engine& engine) { write_all(engine, texts); });
    });
    request.pipeline = 2;
    EXPECT_THROW(agreed_plan(session(), model->source(), request), Error);
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
