// Plans for two models in memory at the same time, on described machines. On four GPUs, 70B in Q5_K_M has
// 13.3 GB of weights per GPU, and 8B in Q8_0 has 2.2 GB (model_memory_test.cpp). The GPUs of a t180 have 16
// GB.
#include "llm/eval/eval_plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "llm/model/synthetic_model.h"
#include "plan/cluster_file.h"

namespace voltpile::llm::eval_plan_test {
namespace {

Topology cluster(const char* name, int ranks_per_host = 0) {
    return load_cluster(std::string(VOLTPILE_SOURCE_DIR "/data/clusters/") + name, ranks_per_host);
}

ReplicaRequest request(int pipeline = 0) {
    ReplicaRequest out;
    out.context = 2048;
    out.logits = out.rows;
    out.pipeline = pipeline;
    return out;
}

std::string refusal(const ModelSource& model, const ModelSource& reference, const ReplicaRequest& what,
                    const Topology& topology) {
    try {
        plan_both(model, reference, what, topology);
    } catch (const MachineError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::CannotRun);
        return error.what();
    }
    return "";
}

TEST(EvalPlan, PlansTheModelInTheRemainingMemory) {
    const SyntheticModel small("llama-3-8b", "q8_0"), exact("llama-3-8b", "f16");
    ReplicaRequest what = request();
    what.cache = KvElement::I8;
    const EvalPlans both = plan_both(small, exact, what, cluster("t180.toml"));
    EXPECT_EQ(both.reference.plan.teams.tensor, 4);
    EXPECT_EQ(both.model.plan.teams.tensor, 4);
    EXPECT_EQ(both.reference.plan.teams.pipeline, 1);
    EXPECT_EQ(both.reference.request.cache, KvElement::F16);
    EXPECT_EQ(both.model.request.cache, KvElement::I8);
    ASSERT_EQ(both.model.request.taken.size(), 1U);
    // 16.1 GB over four GPUs, with the whole embedding of 1.05 GB on each; 2048 tokens of 131 KB over four
    // GPUs; 1 GB for connections; about 0.5 GB for activations and scratch space.
    EXPECT_NEAR(static_cast<double>(both.model.request.taken[0]),
                (16.06e9 - 1.05e9) / 4 + 1.05e9 + 2048 * 131072.0 / 4 + 1e9 + 0.5e9, 0.3e9);
}

TEST(EvalPlan, RejectsModelsThatDoNotFitTogether) {
    const SyntheticModel large("llama-3-70b", "q5_k_m"), small("llama-3-8b", "q8_0");
    EXPECT_EQ(plan_replica(large, request(), cluster("t180.toml")).plan.teams.pipeline, 1);
    for (const int pipeline : {0, 1}) {
        const std::string both = refusal(large, large, request(pipeline), cluster("t180.toml"));
        EXPECT_NE(both.find("the model does not fit"), std::string::npos) << both;
        EXPECT_NE(both.find("of the other model"), std::string::npos) << both;
        EXPECT_EQ(both.find("such GPUs"), std::string::npos) << both;
    }
    const std::string alone = refusal(small, large, request(), cluster("t180.toml", 1));
    EXPECT_EQ(alone.find("the reference alone: the model does not fit"), 0U) << alone;
}

TEST(EvalPlan, AddsStagesUntilBothFit) {
    const SyntheticModel large("llama-3-70b", "q5_k_m");
    const EvalPlans both = plan_both(large, large, request(), cluster("t181_x3.toml"));
    EXPECT_EQ(plan_replica(large, request(), cluster("t181_x3.toml")).plan.teams.pipeline, 1);
    EXPECT_GT(both.model.plan.teams.pipeline, 1);
    EXPECT_EQ(both.reference.plan.teams.pipeline, both.model.plan.teams.pipeline);
    EXPECT_EQ(both.model.request.taken.size(), static_cast<std::size_t>(both.model.plan.teams.pipeline));
}

}  // namespace
}  // namespace voltpile::llm::eval_plan_test
