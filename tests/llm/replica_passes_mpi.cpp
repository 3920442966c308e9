// Runs many sequences at once on the ranks of a replica. Runs under mpirun on 1 to 4 ranks
// (tests/CMakeLists.txt).
#include "llm/replica/replica_passes.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/engine/engine.h"
#include "llm/replica/pass_message.h"
#include "llm/replica/same_model.h"
#include "llm/tokenizer/model_tokenizer.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::session;
using test::world;

namespace {

const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";

// Each prompt several times, so that there are more sequences than run at once, in a cache that is too small
// for those. The expected tokens come from transformers.
void write_all(ReplicaPasses& passes, const ModelFiles& model, const nlohmann::json& texts) {
    const Tokenizer tokenizer = load_tokenizer(model);
    EngineSettings settings;
    settings.scheduler = passes.measured_settings();
    EXPECT_FALSE(settings.scheduler.pace.known()) << "cores have no measured pace";
    settings.end_ids = model.config().eos_ids;
    Engine engine(passes, &tokenizer, settings);
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

void write_over(int tensor, int pipeline) {
    const auto model = open_model(world(), folder + "tiny-f16.gguf");
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
    with_replica(session(), *model, agreed_plan(session(), *model, request), [&](Replica& replica) {
        run_passes(replica, [&](ReplicaPasses& passes) { write_all(passes, *model, expected); });
    });
}

TEST(ReplicaPasses, ContinueLikeTransformers) {
    const int ranks = world().size();
    for (int tensor = 1; tensor <= ranks; tensor *= 2) {
        if (ranks % tensor != 0) break;
        SCOPED_TRACE(tensor);
        write_over(tensor, ranks / tensor);
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
