#include "llm/bench/llm_rates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "device/device.h"
#include "llm/bench/bench_sequences.h"
#include "llm/model/model_memory.h"
#include "llm/replica/rank_ops.h"
#include "llm/session/session.h"
#include "measure/host_rates.h"
#include "plan/calibration.h"

namespace voltpile::llm {
namespace {

// Many short rounds, of which the best counts, because other programs may take the processor meanwhile.
constexpr int kTimedSteps = 8;
constexpr int kRounds = 12;
constexpr std::int64_t kReadBytes = 256LL << 20;

// Tokens of prompts and of sequences: attention over many takes more of a small model than of a large one.
int tokens_on(bool gpu) {
    return gpu ? 512 : 64;
}

ReplicaRequest request_of(bool on_gpu, int many) {
    ReplicaRequest request;
    request.tensor = request.pipeline = 1;
    request.device = on_gpu ? DeviceChoice::Gpu : DeviceChoice::Cpu;
    request.context = tokens_on(on_gpu) + 2 * kTimedSteps;
    request.sequences = request.logits = many;
    request.rows = tokens_on(on_gpu);
    return request;
}

double time_step(BenchSequences& sequences, PassExecutor& passes, int count, int context) {
    double best = std::numeric_limits<double>::infinity();
    sequences.prefill(passes, count, context);
    for (int round = 0; round < kRounds; ++round) {  // the first records the passes
        best = std::min(best, sequences.generate(passes, kTimedSteps) / kTimedSteps);
        sequences.rewind(context);
    }
    return best;
}

void time_passes(Replica& replica, int vocabulary, LlmPassTimes& times) {
    BenchSequences sequences(replica.request(), vocabulary);
    run_passes(replica, [&](ReplicaPasses& passes) {
        times.one_s = time_step(sequences, passes, 1, times.prompt_tokens / 2);
        times.many_s = time_step(sequences, passes, times.many, times.prompt_tokens / 2);
        times.prompt_s = std::numeric_limits<double>::infinity();
        for (int round = 0; round < kRounds; ++round)
            times.prompt_s =
                std::min(times.prompt_s, sequences.answer_prompt(passes, times.prompt_tokens).seconds);
    });
}

}  // namespace

std::vector<MeasuredRate> solve_llm_rates(const LlmPassTimes& times, const std::string& processor, int cores,
                                          double read_rate) {
    // Noise must not make a rate negative or infinite.
    const double each_s = std::max((times.many_s - times.one_s) / (times.many - 1), times.one_s / 1e4);
    const double fixed_s = std::max(times.one_s - each_s, times.one_s / 10);
    const double share = cores > 0 ? 1.0 / cores : 1;
    const double reading_s = cores > 0 ? std::min(times.weight_bytes / read_rate, fixed_s) : fixed_s;
    std::vector<MeasuredRate> rates{
        {kLlmWeights, processor, share * times.weight_bytes / reading_s},
        {kLlmProducts, processor, share * times.products / each_s},
        {kLlmPrompt, processor, share * times.products * times.prompt_tokens / times.prompt_s}};
    if (reading_s < fixed_s) rates.push_back({kLlmLayers, processor, times.layers / (fixed_s - reading_s)});
    return rates;
}

std::vector<MeasuredRate> measure_llm_rates(const MpiSession& mpi, bool on_gpu) {
    LlmPassTimes times;
    times.many = on_gpu ? 64 : 8;
    times.prompt_tokens = tokens_on(on_gpu);
    const auto model = LanguageModel::open(mpi.world(), {.shape = on_gpu ? "llama-3-8b" : "tiny"});
    ReplicaPlan plan = agreed_plan(mpi, model->source(), request_of(on_gpu, times.many));
    const RankPlan rank = plan.plan.ranks.front();
    const std::string processor =
        on_gpu ? plan.plan.host_of(rank).gpus[static_cast<std::size_t>(rank.gpu)].name : "";
    times.weight_bytes = static_cast<double>(plan.stages.front().weights);
    times.products = static_cast<double>(weight_bytes(model->source()).weights);
    times.layers = static_cast<double>(model->config().layers);
    if (on_gpu) use_device(rank.device);
    const double read_rate = on_gpu ? 0 : host_read_rate(kReadBytes, pus_of(plan.plan, 0));
    with_session(mpi, *model, std::move(plan), [&](Session& session) {
        time_passes(session.replica(), static_cast<int>(model->config().vocab), times);
    });
    return solve_llm_rates(times, processor, on_gpu ? 0 : static_cast<int>(rank.cores.size()), read_rate);
}

}  // namespace voltpile::llm
