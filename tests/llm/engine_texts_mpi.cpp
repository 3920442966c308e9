// Mixed requests over the ranks of a replica, together and alone. Runs under mpirun on 1 to 4 ranks
// (tests/CMakeLists.txt).
#include <fstream>

#include "llm/mixed_requests.h"
#include "llm/ops/cpu/cpu_ops.h"
#include "llm/session/session.h"
#include "llm/single_rank_passes.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::session;
using test::world;

namespace {

const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";

std::vector<std::int32_t> held_out(const Tokenizer& tokenizer) {
    std::string text(6000, '\0');
    std::ifstream(folder + "held_out.txt").read(text.data(), static_cast<std::streamsize>(text.size()));
    return tokenizer.encode(text);
}

// Calls `lead` with the tokenizer on the leader of all ranks.
void over_all_ranks(int tensor,
                    const std::function<void(ReplicaPasses&, const ModelSource&, const Tokenizer&)>& lead) {
    const auto model = LanguageModel::open(world(), {.path = folder + "tiny-q8_0.gguf"});
    ReplicaRequest request;
    request.tensor = tensor;
    request.pipeline = world().size() / tensor;
    request.device = DeviceChoice::Cpu;
    request.context = mixed_context;
    request.sequences = request.logits = 16;
    request.cache_tokens = 16 * kv_page_tokens;
    request.rows = mixed_context;
    const ReplicaPlan plan = agreed_plan(session(), model->source(), request);
    with_session(session(), *model, plan, [&](Session& here) {
        run_passes(here.replica(),
                   [&](ReplicaPasses& passes) { lead(passes, model->source(), model->tokenizer()); });
    });
}

// TP1, TP2, PP3, TP2 x PP2.
TEST(EngineTexts, EqualTogetherAndAloneOnEveryCut) {
    const int tensor = world().size() % 2 == 0 ? 2 : 1;
    over_all_ranks(tensor, [](ReplicaPasses& passes, const ModelSource& model, const Tokenizer& tokenizer) {
        MixedRequests requests(model.config(), &tokenizer);
        requests.answer_unbatched(passes, held_out(tokenizer), 64, 5);
        EXPECT_GT(requests.answer_batched(passes, 16).scheduler.shared_tokens, 0);
    });
}

// PP1 to PP4. The sequences alone come from one rank with the whole model, each prompt in one pass. A
// pipeline cuts prompts into pieces that follow each other, also a prompt that is alone.
TEST(EngineTexts, EqualOnAPipelineAndOnOneRank) {
    over_all_ranks(1, [](ReplicaPasses& passes, const ModelSource& model, const Tokenizer& tokenizer) {
        SchedulerSettings settings = mixed_settings(16);
        settings.limits.rows = mixed_context;
        CpuOps ops({-1});
        SingleRankPasses one_rank(model, ops, settings);
        for (const int count : {1, 32}) {
            MixedRequests requests(model.config(), &tokenizer);
            requests.answer_unbatched(one_rank, held_out(tokenizer), count, 5);
            requests.answer_batched(passes, 16);
        }
    });
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
