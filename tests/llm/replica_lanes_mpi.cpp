// Prompts over several GPUs of a tensor-parallel group, in passes with two lanes (batch_lanes.h) and in
// pieces too short for them. Runs under mpirun; skips itself with fewer GPUs than ranks.
#include <gtest/gtest.h>

#include <cmath>

#include "device/device.h"
#include "llm/decoder/batch_builder.h"
#include "llm/model/synthetic_model.h"
#include "llm/replica/replica.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::session;
using test::world;

namespace {

using Numbers = std::vector<std::int32_t>;

constexpr int kContext = 1600;

Numbers some_tokens(int count, int first) {
    Numbers tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(1 + (first + i * 37) % 300);
    return tokens;
}

// A prompt and what follows it.
struct Text {
    Text(PagePool& pool, int count, int first) : pages(pool), tokens(some_tokens(count, first)) {
        EXPECT_TRUE(pages.reserve(count));
    }
    SequencePages pages;
    Numbers tokens;
};

// Runs the prompts of some sequences, `each` tokens of all sequences in a pass, and then their last tokens
// one by one. Returns the logits of these tokens and of the prompts' last ones, on the rank that has them.
std::vector<float> logits_of(Replica& replica, const Numbers& lengths, int each) {
    constexpr int ahead = 3;
    PagePool pool(replica.plan().pages);
    std::vector<std::unique_ptr<Text>> texts;
    for (const std::int32_t length : lengths)
        texts.push_back(std::make_unique<Text>(pool, length, 11 * length));
    std::vector<float> all;
    const auto run = [&](BatchBuilder& builder) {
        const std::span<const float> logits = replica.host_logits(builder.take());
        all.insert(all.end(), logits.begin(), logits.end());
        EXPECT_EQ(replica.not_finite(), "");
    };
    BatchBuilder builder;
    int room = each;
    for (const auto& text : texts) {
        const int prompt = static_cast<int>(text->tokens.size()) - ahead;
        for (int at = 0; at < prompt;) {
            const int count = std::min(room, prompt - at);
            builder.add(text->pages, std::span(text->tokens).subspan(at, count), at,
                        at + count == prompt ? WantLogits::Last : WantLogits::None);
            at += count;
            room -= count;
            if (room > 0) continue;
            run(builder);
            room = each;
        }
    }
    if (room < each) run(builder);
    for (int i = ahead; i > 0; --i) {
        for (const auto& text : texts) {
            const auto at = static_cast<int>(text->tokens.size()) - i;
            builder.add(text->pages, std::span(text->tokens).subspan(at, 1), at, WantLogits::Last);
        }
        run(builder);
    }
    return all;
}

double nmse(const std::vector<float>& got, const std::vector<float>& wanted) {
    double error = 0, square = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        error += std::pow(static_cast<double>(got[i]) - static_cast<double>(wanted[i]), 2);
        square += std::pow(static_cast<double>(wanted[i]), 2);
    }
    return got.empty() ? 0 : error / square;
}

class ReplicaLanes : public testing::Test {
  protected:
    void SetUp() override {
        if (device_count() < world().size()) GTEST_SKIP() << "needs a GPU for each rank";
        if (world().size() == 1) GTEST_SKIP() << "needs several ranks";
    }
    // Calls use(replica) on all ranks.
    template <class Use>
    static void with_model(const char* shape, const char* format, bool batch_invariant, const Use& use) {
        SCOPED_TRACE(shape + std::string(" ") + format);
        const SyntheticModel model(shape, format);
        ReplicaRequest request;
        request.tensor = world().size();
        request.device = DeviceChoice::Gpu;
        request.context = kContext;
        request.sequences = request.logits = 4;
        request.rows = 3 * kContext;
        request.batch_invariant = batch_invariant;
        with_replica(session(), model, agreed_plan(session(), model, request), [&](Replica& replica) {
            EXPECT_GT(replica.decoder().first_lane(request.rows), 0);
            EXPECT_EQ(replica.decoder().first_lane(500), 0);
            use(replica);
        });
    }
};

TEST_F(ReplicaLanes, KeepLogitsIfBatchInvariant) {
    const auto compare = [&](Replica& replica) {
        for (const Numbers& lengths : {Numbers{1503}, {703, 4, 903}, {553}, {1203, 1303, 1103}}) {
            const auto wanted = logits_of(replica, lengths, 500);
            for (int round = 0; round < 10; ++round)
                ASSERT_TRUE(logits_of(replica, lengths, 3 * kContext) == wanted)
                    << lengths.front() << ", round " << round;
        }
    };
    for (const char* const format : {"q8_0", "q4_k_m", "f16"}) with_model("tiny", format, true, compare);
    with_model("tiny-moe", "q4_k_m", true, compare);
    with_model("llama-3.2-1b", "q8_0", true, compare);
}

// Products choose their algorithm and their workers by the number of rows. Activations are fp16, rounded by
// 2^-12 on average, squared 6e-8, at each of some 110 products of 16 layers, in both results: about 1e-5.
TEST_F(ReplicaLanes, StayCloseOtherwise) {
    with_model("llama-3.2-1b", "q8_0", false, [&](Replica& replica) {
        for (const Numbers& lengths : {Numbers{1503}, {1203, 1303, 1103}}) {
            const auto wanted = logits_of(replica, lengths, 500);
            for (int round = 0; round < 30; ++round)
                ASSERT_LT(nmse(logits_of(replica, lengths, 3 * kContext), wanted), 1e-4) << round;
        }
    });
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
