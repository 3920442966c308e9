// Mixed requests over the ranks of a replica, together and each alone on the same cut. Run under mpirun at 1,
// 2 and 4 ranks: TP1, TP2, TP2 x PP2 (tests/CMakeLists.txt).
#include <fstream>

#include "llm/decoder/model_tokenizer.h"
#include "llm/mixed_texts.h"
#include "llm/run/replica_passes.h"
#include "llm/run/same_model.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::session;
using test::world;

namespace {

TEST(EngineTexts, AreTheSameTogetherAsAloneOnEveryCut) {
    const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";
    const auto model = open_model(world(), folder + "tiny-q8_0.gguf");
    ReplicaRequest request;
    request.tensor = std::min(world().size(), 2);
    request.pipeline = world().size() / request.tensor;
    request.device = DeviceChoice::Cpu;
    request.context = mixed_context;
    request.sequences = request.logits = 16;
    request.cache_tokens = 16 * kv_page_tokens;
    request.rows = mixed_context;
    with_replica(session(), *model, agreed_plan(session(), *model, request), [&](Replica& replica) {
        run_passes(replica, [&](ReplicaPasses& passes) {
            const Tokenizer tokenizer = load_tokenizer(*model);
            std::string text(6000, '\0');
            std::ifstream(folder + "held_out.txt")
                .read(text.data(), static_cast<std::streamsize>(text.size()));
            MixedTexts texts(model->config(), &tokenizer);
            texts.ask(passes, tokenizer.encode(text), 64, 5);
            EXPECT_GT(texts.together(passes, replica.plan().pages).scheduler.shared_tokens, 0);
        });
    });
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
