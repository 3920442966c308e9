#include "llm/bench/llm_rates.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/seconds_since.h"
#include "device/device.h"
#include "llm/bench/bench_sequences.h"
#include "llm/engine/engine.h"
#include "llm/model/model_memory.h"
#include "llm/replica/rank_ops.h"
#include "llm/session/session.h"
#include "measure/host_caches.h"
#include "measure/host_rates.h"
#include "plan/calibration.h"

namespace voltpile::llm {
namespace {

// Many short rounds, because other programs may take the processor meanwhile. On GPUs the best counts. Cores
// are never all undisturbed for long, so there the quarter of the rounds that were the fastest decides.
constexpr int kTimedSteps = 8;
constexpr int kRounds = 12;
constexpr int kRoundsOnCores = 96;
constexpr int kEngineRounds = 8;

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

// Returns the time that a quarter of the rounds does not exceed.
double quarter(std::vector<double> seconds) {
    const auto at = seconds.begin() + std::ssize(seconds) / 4;
    std::ranges::nth_element(seconds, at);
    return *at;
}

double time_step(BenchSequences& sequences, PassExecutor& passes, int count, int context) {
    sequences.prefill(passes, count, context);
    std::vector<double> seconds;
    if (!passes.feeds()) {
        for (int round = 0; round < kRoundsOnCores; ++round) {
            if (round % kTimedSteps == 0) sequences.rewind(context);
            seconds.push_back(sequences.generate(passes, 1));
        }
        return quarter(std::move(seconds));
    }
    for (int round = 0; round < kRounds; ++round) {  // the first records the passes
        seconds.push_back(sequences.generate(passes, kTimedSteps) / kTimedSteps);
        sequences.rewind(context);
    }
    return std::ranges::min(seconds);
}

double time_prompt(const BenchSequences& sequences, ReplicaPasses& passes, int tokens) {
    std::vector<double> seconds;
    const int rounds = passes.feeds() ? kRounds : kRoundsOnCores / 2;
    for (int round = 0; round < rounds; ++round)
        seconds.push_back(sequences.answer_prompt(passes, tokens).seconds);
    return passes.feeds() ? std::ranges::min(seconds) : quarter(std::move(seconds));
}

// Returns the time of an engine's step in which `count` sequences generate a token each.
double time_engine_step(const BenchSequences& sequences, ReplicaPasses& passes, int count, int context) {
    std::vector<double> seconds;
    for (int round = 0; round < kEngineRounds; ++round) {
        Engine engine(passes, nullptr, {passes.settings(), {}});
        for (int i = 0; i < count; ++i) {
            Request request;
            request.id = i;
            request.prompt = sequences.prompt(i, context);
            request.max_tokens = 2 * kTimedSteps;
            engine.submit(std::move(request));
        }
        while (!engine.idle()) {
            const EngineCounters before = engine.counters();
            const auto begin = std::chrono::steady_clock::now();
            engine.step();
            const double took = seconds_since(begin);
            if (engine.counters().tokens_out - before.tokens_out == count &&
                before.scheduler.generating == count)
                seconds.push_back(took);
        }
    }
    return seconds.empty() ? 0 : quarter(std::move(seconds));
}

void time_passes(Replica& replica, int vocabulary, LlmPassTimes& times) {
    BenchSequences sequences(replica.request(), vocabulary, {});
    run_passes(replica, [&](ReplicaPasses& passes) {
        const int context = times.prompt_tokens / 2;
        times.one_s = time_step(sequences, passes, 1, context);
        times.many_s = time_step(sequences, passes, times.many, context);
        times.prompt_s = time_prompt(sequences, passes, times.prompt_tokens);
        if (!passes.feeds())
            times.engine_s = time_engine_step(sequences, passes, times.many, context) - times.many_s;
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
    if (times.engine_s > 0) rates.push_back({kLlmSteps, processor, 1 / times.engine_s});
    return rates;
}

namespace {

std::vector<MeasuredRate> measure_model(const MpiSession& mpi, bool on_gpu, const ModelChoice& choice) {
    LlmPassTimes times;
    times.many = on_gpu ? 64 : 8;
    times.prompt_tokens = tokens_on(on_gpu);
    const auto model = LanguageModel::open(mpi.world(), choice);
    ReplicaPlan plan = agreed_plan(mpi, model->source(), request_of(on_gpu, times.many));
    const RankPlan rank = plan.plan.ranks.front();
    const std::string processor =
        on_gpu ? plan.plan.host_of(rank).gpus[static_cast<std::size_t>(rank.gpu)].name : "";
    times.weight_bytes = static_cast<double>(plan.stages.front().weights);
    times.products = static_cast<double>(weight_bytes(model->source()).weights);
    times.layers = static_cast<double>(model->config().layers);
    if (on_gpu) use_device(rank.device);
    const std::vector<int> pus = pus_of(plan.plan, 0);
    const double read_rate = on_gpu ? 0 : host_read_rate(bytes_beyond_caches(pus, 1), pus);
    with_session(mpi, *model, std::move(plan), [&](Session& session) {
        time_passes(session.replica(), static_cast<int>(model->config().vocab), times);
    });
    return solve_llm_rates(times, processor, on_gpu ? 0 : static_cast<int>(rank.cores.size()), read_rate);
}

}  // namespace

std::vector<MeasuredRate> measure_llm_rates(const MpiSession& mpi, bool on_gpu) {
    if (on_gpu) return measure_model(mpi, true, {.shape = "llama-3-8b"});
    std::vector<MeasuredRate> rates = measure_model(mpi, false, {.shape = "tiny", .quant = "q8_0"});
    for (const MeasuredRate& rate : measure_model(mpi, false, {.shape = "tiny", .quant = "f16"})) {
        if (rate.work == kLlmProducts) rates.push_back({kLlmFloatProducts, "", rate.per_s});
        if (rate.work == kLlmPrompt) rates.push_back({kLlmFloatPrompt, "", rate.per_s});
    }
    return rates;
}

}  // namespace voltpile::llm
