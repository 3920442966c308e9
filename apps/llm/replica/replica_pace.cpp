#include "llm/replica/replica_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "llm/model/expert_load.h"
#include "llm/ops/cpu/kernels.h"
#include "llm/replica/experts_on_host.h"
#include "plan/calibration.h"
#include "plan/cores.h"

namespace voltpile::llm {
namespace {

// Shares of the theoretical rates that decode steps reach, and the time of a sum within a group, from the
// measurements on H200 and H100 in docs/benchmarks.md. Weights in few bits are expanded first, unless there
// is a copy of them as integers; these shares, too, are of the rate in 16 bits.
constexpr double kShareOfBandwidth = 0.66;
struct TensorShares {
    double steps, prompts;
};
constexpr TensorShares kShareOfTensorRate{0.3, 0.3};
constexpr TensorShares kShareOfTensorRateIn16Bits{0.5, 0.42}, kShareOfTensorRateOfCopies{0.5, 1.2};
// Of a layer with experts on a GPU: its many small kernels wait for each other, however few weights they
// read. From the measurements on H100 there.
constexpr double kGpuMixtureLayerSeconds = 40e-6;
// Of a layer with experts in host memory: handing rows to the cores, calling them, and taking the sums.
// Assumed: not measured.
constexpr double kHostExpertLayerSeconds = 50e-6;
// The share of a PCIe link's rate at which weights are copied to a GPU, and the rate of an unknown link.
// Assumed: not measured.
constexpr double kShareOfLink = 0.7;
constexpr double kLinkBytesPerS = 12e9;
// The same for cores, of core_lanes_per_s() and at most, from the processor in docs/benchmarks.md. Products
// with 8-bit activations take fewer instructions than FP32 has lanes, most of all with 512-bit registers,
// where VNNI is assumed.
struct LaneShares {
    double steps, prompts;
};
constexpr LaneShares kShareOfFloatLanes{0.7, 0.8};
constexpr LaneShares kShareOfIntegerLanes{0.85, 0.85};
constexpr LaneShares kShareOfVnniLanes{3.0, 3.0};
constexpr double kCoreBytesPerS = 15e9;
constexpr double kCoreStepSeconds = 120e-6;
constexpr double kCoreLayerSeconds = 5e-6;
constexpr double kCoreMeetingSeconds = 4e-6;  // of a layer, for each core: threads wait for each other
// An engine on GPUs first measures its passes (engine/measure_pace).
constexpr double kPaceSeconds = 0.5;
// The first range reaches the engine after a few rounds of messages. Prompts are committed one after the
// other while others are generated, but for the last ones.
constexpr double kStartSeconds = 3e-3;
constexpr double kCommitSeconds = 2e-3;
constexpr double kSumSeconds = 5.5e-6;         // between two GPUs over NVLink
constexpr double kSumOverPcieSeconds = 40e-6;  // assumed: not measured
constexpr double kMoreForEachRank = 0.3;       // of the time between two GPUs, for each further rank

// Returns the 16-bit multiply-adds per clock and multiprocessor: NVIDIA's figures for tensor cores with fp32
// sums, or the rate of FP32 units where there are no tensor cores.
double products_per_clock(const Gpu& gpu) {
    switch (gpu.compute_capability) {
        case 70:
        case 75:
            return 512;
        case 80:
            return 1024;
        case 86:
        case 89:
            return 256;
        case 90:
            return 2048;
        default:
            return gpu.fp32_per_clock;
    }
}

struct StageRates {
    double bytes_per_s = 0;     // of the slowest rank in the stage
    double products_per_s = 0;  // likewise
    double prompt_products_per_s = 0;
    double step_s = 0;   // of a step, whatever its size
    double layer_s = 0;  // of a layer, likewise
    double sum_s = 0;    // of one sum within the group
    bool measured = false;
    int slowest_rank = -1;
};

// Returns the rate of products of which this share is done at the first rate; 0 if one that is needed is.
double mixed_rate(double first_share, double first, double second) {
    if (first_share >= 1) return first;
    if (first_share <= 0) return second;
    return first > 0 && second > 0 ? 1 / (first_share / first + (1 - first_share) / second) : 0;
}

// The shares of the weights that cores multiply by 8-bit activations, that GPUs need not expand, and of which
// GPUs have a copy as integers.
struct FormatShares {
    double integers = 0, in_16_bits = 0, copied = 0;
};

// Returns the rates of a rank with a GPU: those measured on it, else shares of its theoretical ones. 0: its
// bandwidth is unknown.
StageRates rates_of_gpu(const Host& host, const Gpu& gpu, const FormatShares& formats) {
    StageRates rates;
    const double tensor_rate = gpu.multiprocessors * products_per_clock(gpu) * gpu.clock_ghz * 1e9;
    rates.bytes_per_s = host.measured_rate(kLlmWeights, gpu.name);
    rates.products_per_s = host.measured_rate(kLlmProducts, gpu.name);
    rates.prompt_products_per_s = host.measured_rate(kLlmPrompt, gpu.name);
    rates.measured = rates.bytes_per_s > 0 && rates.products_per_s > 0 && rates.prompt_products_per_s > 0;
    if (rates.measured) return rates;
    rates.bytes_per_s = gpu.memory_gb_per_s * 1e9 * kShareOfBandwidth;
    const auto share = [&](double TensorShares::*of) {
        return mixed_rate(
            formats.copied, kShareOfTensorRateOfCopies.*of,
            mixed_rate(formats.in_16_bits, kShareOfTensorRateIn16Bits.*of, kShareOfTensorRate.*of));
    };
    rates.products_per_s = tensor_rate * share(&TensorShares::steps);
    rates.prompt_products_per_s = tensor_rate * share(&TensorShares::prompts);
    return rates;
}

FormatShares format_shares(const WeightBytes& weights) {
    double all = 0;
    FormatShares shares;
    for (std::size_t i = 0; i < weights.in_matrices.size(); ++i) {
        const auto format = static_cast<WeightFormat>(i);
        const auto bytes = static_cast<double>(weights.in_matrices[i]);
        all += bytes;
        if (has_integer_product(format)) shares.integers += bytes;
        if (format == WeightFormat::F16 || format == WeightFormat::BF16) shares.in_16_bits += bytes;
    }
    if (all <= 0) return {};
    return {shares.integers / all, shares.in_16_bits / all, 0};
}

// Returns the rates of a rank on cores: those measured there, else shares of the theoretical ones. integers:
// FormatShares::integers.
StageRates rates_of_cores(const Host& host, std::size_t count, double integers) {
    const auto cores = static_cast<double>(count);
    const auto of_all = [&](const char* work) { return cores * host.measured_rate(work, ""); };
    StageRates rates;
    rates.bytes_per_s = of_all(kLlmWeights);
    rates.products_per_s = mixed_rate(integers, of_all(kLlmProducts), of_all(kLlmFloatProducts));
    rates.prompt_products_per_s = mixed_rate(integers, of_all(kLlmPrompt), of_all(kLlmFloatPrompt));
    if (const double layers = host.measured_rate(kLlmLayers, ""); layers > 0) rates.layer_s = 1 / layers;
    const double steps = host.measured_rate(kLlmSteps, "");
    rates.step_s = steps > 0 ? 1 / steps : kCoreStepSeconds;
    rates.measured = rates.bytes_per_s > 0 && rates.products_per_s > 0 && rates.prompt_products_per_s > 0;
    if (rates.measured) return rates;
    rates.step_s = kCoreStepSeconds;
    const double lanes = cores * core_lanes_per_s(host, false);
    const LaneShares fast = host.simd_bits >= 512   ? kShareOfVnniLanes
                            : host.simd_bits >= 256 ? kShareOfIntegerLanes
                                                    : kShareOfFloatLanes;
    rates.products_per_s = lanes * mixed_rate(integers, fast.steps, kShareOfFloatLanes.steps);
    rates.prompt_products_per_s = lanes * mixed_rate(integers, fast.prompts, kShareOfFloatLanes.prompts);
    rates.bytes_per_s = cores * kCoreBytesPerS;
    if (host.memory_gb_per_s > 0)
        rates.bytes_per_s = std::min(rates.bytes_per_s, host.memory_gb_per_s * 1e9 * kShareOfBandwidth *
                                                            cores / static_cast<double>(host.cores.size()));
    rates.layer_s = kCoreLayerSeconds + kCoreMeetingSeconds * cores;
    return rates;
}

bool on_gpu(const Plan& plan, int rank) {
    return plan.ranks[static_cast<std::size_t>(rank)].gpu >= 0;
}

// Returns the rates of the slowest rank of a stage; rates of 0 if those of some rank are unknown.
StageRates rates_of(const Plan& plan, std::size_t stage, const FormatShares& formats) {
    StageRates slowest;
    bool nvlink = true;
    for (const Team& team : plan.teams.teams)
        for (const int rank : team.stages[stage]) {
            const RankPlan& at = plan.ranks[static_cast<std::size_t>(rank)];
            const Host& host = plan.host_of(at);
            StageRates rates = at.gpu < 0
                                   ? rates_of_cores(host, at.cores.size(), formats.integers)
                                   : rates_of_gpu(host, host.gpus[static_cast<std::size_t>(at.gpu)], formats);
            if (rates.bytes_per_s <= 0) return {};
            nvlink = nvlink && at.gpu >= 0 && host.gpus[static_cast<std::size_t>(at.gpu)].nvlink_island >= 0;
            if (slowest.slowest_rank >= 0 && rates.bytes_per_s >= slowest.bytes_per_s) continue;
            rates.slowest_rank = rank;
            slowest = rates;
        }
    const int tensor = plan.teams.tensor;
    if (tensor > 1)
        slowest.sum_s = (nvlink ? kSumSeconds : kSumOverPcieSeconds) * (1 + kMoreForEachRank * (tensor - 2));
    return slowest;
}

// Returns the rates of the slowest cores that compute a stage's experts in host memory.
StageRates rates_of_expert_cores(const Plan& plan, std::size_t stage, const FormatShares& formats) {
    StageRates slowest;
    for (const Team& team : plan.teams.teams)
        for (const int rank : team.stages[stage]) {
            const RankPlan& at = plan.ranks[static_cast<std::size_t>(rank)];
            const StageRates rates =
                rates_of_cores(plan.host_of(at), expert_cores(plan, rank).size(), formats.integers);
            if (slowest.bytes_per_s <= 0 || rates.bytes_per_s < slowest.bytes_per_s) slowest = rates;
        }
    return slowest;
}

// Returns the bytes per second from host memory to a rank's GPU while all ranks of the host copy.
double link_rate(const Plan& plan, int rank) {
    const RankPlan& mine = plan.ranks[static_cast<std::size_t>(rank)];
    const Host& host = plan.host_of(mine);
    const auto gpu_of = [&](const RankPlan& at) -> const Gpu& {
        return host.gpus[static_cast<std::size_t>(at.gpu)];
    };
    const auto above = [&](const Gpu& gpu, int node) {
        int at = gpu.place.node;
        while (at >= 0 && at != node) at = host.pcie[static_cast<std::size_t>(at)].parent;
        return at == node;
    };
    double rate = gpu_of(mine).pcie_gb_per_s > 0 ? gpu_of(mine).pcie_gb_per_s * 1e9 : kLinkBytesPerS;
    for (int node = gpu_of(mine).place.node; node >= 0;
         node = host.pcie[static_cast<std::size_t>(node)].parent) {
        const double uplink = gb_per_s(host.pcie[static_cast<std::size_t>(node)].uplink) * 1e9;
        if (uplink <= 0) continue;
        const auto sharing = std::ranges::count_if(plan.ranks, [&](const RankPlan& other) {
            return other.host == mine.host && other.gpu >= 0 && above(gpu_of(other), node);
        });
        rate = std::min(rate, uplink / static_cast<double>(sharing));
    }
    return kShareOfLink * rate;
}

// Returns the bytes per second at which the slowest rank of a stage receives weights.
double slowest_link(const Plan& plan, std::size_t stage) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const Team& team : plan.teams.teams)
        for (const int rank : team.stages[stage]) slowest = std::min(slowest, link_rate(plan, rank));
    return slowest;
}

// Returns the bytes of experts on the mean rank, from those of the fullest.
double mean_expert_bytes(const StageNeeds& stage, std::uint64_t of_fullest, const WeightBytes& weights) {
    const double mean = static_cast<double>(weights.experts) / stage.expert_ranks;
    return static_cast<double>(of_fullest) * (stage.expert_ranks > 1 ? mean / std::ceil(mean) : 1);
}

// The time of a stage's experts in host memory.
struct HostExpertPace {
    double layers_s = 0;  // of all their layers in a step
    double read_s = 0;    // of reading all experts
    double products = 0;  // of a token, which the GPU does not have
    double each_s = 0;    // of a token in a step
    double prompt_s = 0;  // of a token of a prompt, on cores
    double copy_s = 0;    // of copying all experts to the GPU
    double link_bytes_per_s = 0;
    double bytes_per_s = 0;
};

HostExpertPace pace_of_host_experts(const ReplicaPlan& replica, std::size_t s, const WeightBytes& weights,
                                    const FormatShares& formats) {
    const StageNeeds& stage = replica.stages[s];
    HostExpertPace pace;
    if (stage.host_layers == 0) return pace;
    const StageRates cores = rates_of_expert_cores(replica.plan, s, formats);
    pace.bytes_per_s = cores.bytes_per_s;
    pace.layers_s = stage.host_layers * (kHostExpertLayerSeconds + cores.layer_s);
    pace.read_s = mean_expert_bytes(stage, stage.host_experts, weights) / cores.bytes_per_s;
    pace.products = mean_expert_bytes(stage, stage.host_weights, weights) * (1 - weights.unused_experts);
    pace.each_s = pace.products / cores.products_per_s;
    pace.prompt_s = pace.products / cores.prompt_products_per_s;
    pace.link_bytes_per_s = slowest_link(replica.plan, s);
    pace.copy_s = static_cast<double>(stage.host_experts_sent) / pace.link_bytes_per_s;
    return pace;
}

}  // namespace

double StagePace::with(double sequences) const {
    const double used = 1 - std::pow(unused_experts, sequences);
    const double busiest = expert_ranks > 1 && used > 0 ? busiest_rank(experts, expert_ranks, used) : 1;
    return fixed_s + (experts_s + host_experts_s) * used * busiest + sequences * each_s;
}

double ReplicaPace::with(int sequences) const {
    const int parts = std::min(static_cast<int>(stages.size()), sequences);
    const double batch = std::max(1.0, static_cast<double>(sequences) / static_cast<double>(stages.size()));
    double longest = 0, all = 0;
    for (const StagePace& stage : stages) {
        longest = std::max(longest, stage.with(batch));
        all += stage.with(batch);
    }
    if (longest <= 0) return 0;
    return sequences <= 1 ? 1 / all : sequences / (parts * longest);
}

double ReplicaPace::seconds(double sequences, int at_once, double prompt_tokens,
                            double generated_tokens) const {
    const double full = std::floor(sequences / at_once);
    const int rest = static_cast<int>(std::ceil(sequences - full * at_once));
    double steps = full * at_once / with(at_once);
    if (rest > 0) steps += rest / with(rest);
    return start_s + kCommitSeconds * std::min<double>(sequences, at_once) +
           sequences * prompt_tokens / prompt + generated_tokens * steps;
}

int rows_to_stream(const ReplicaPlan& replica, const WeightBytes& weights) {
    constexpr double least = 64;
    double rows = 0;
    for (std::size_t s = 0; s < replica.stages.size(); ++s) {
        const HostExpertPace host = pace_of_host_experts(replica, s, weights, format_shares(weights));
        if (host.copy_s > longest_streamed_pass_s) return 0;
        if (host.prompt_s > 0) rows = std::max({rows, least, std::ceil(host.copy_s / host.prompt_s)});
    }
    return static_cast<int>(std::min<double>(rows, std::numeric_limits<int>::max()));
}

ReplicaPace estimate_pace(const ReplicaPlan& replica, const WeightBytes& weights) {
    ReplicaPace pace;
    pace.start_s = kStartSeconds;
    const int layers = replica.stages.back().layer_end;
    const FormatShares formats = format_shares(weights);
    double longest = 0, longest_prompt = 0;
    for (std::size_t s = 0; s < replica.stages.size(); ++s) {
        const StageNeeds& stage = replica.stages[s];
        const int own = stage.layer_end - stage.layer_begin;
        const HostExpertPace host = pace_of_host_experts(replica, s, weights, formats);
        const double products =
            std::max(0.0, static_cast<double>(weights.active) * own / layers / replica.plan.teams.tensor -
                              host.products);
        FormatShares of_stage = formats;  // a copy has a byte for each weight
        const double shares = static_cast<double>(stage.integers) * static_cast<double>(stage.weights) /
                              static_cast<double>(std::max<std::uint64_t>(stage.all_weights(), 1));
        if (products > 0) of_stage.copied = std::min(1.0, shares / products);
        const StageRates rates = rates_of(replica.plan, s, of_stage);
        if (rates.bytes_per_s <= 0) return {};
        const bool gpu = on_gpu(replica.plan, rates.slowest_rank);
        const bool streams = replica.streamed_rows > 0 && replica.request.rows >= replica.streamed_rows;
        const double host_prompt_s =
            streams ? host.copy_s / replica.request.rows + host.products / rates.prompt_products_per_s
                    : host.prompt_s;
        const double mixture_s = gpu && weights.unused_experts > 0 ? kGpuMixtureLayerSeconds : 0;
        const double each_layer = rates.layer_s + mixture_s + 2 * rates.sum_s;
        const StagePace time{rates.step_s +
                                 static_cast<double>(stage.weights - stage.experts) / rates.bytes_per_s +
                                 own * each_layer + host.layers_s,
                             products / rates.products_per_s + host.each_s,
                             mean_expert_bytes(stage, stage.experts, weights) / rates.bytes_per_s,
                             weights.unused_experts,
                             static_cast<double>(weights.experts),
                             stage.expert_ranks,
                             host.read_s};
        pace.stages.push_back(time);
        if (gpu) pace.start_s = kStartSeconds + kPaceSeconds;
        longest_prompt = std::max(longest_prompt, products / rates.prompt_products_per_s + host_prompt_s);
        if (const double whole = time.with(replica.request.sequences); whole > longest) {
            longest = whole;
            pace.slowest_rank = rates.slowest_rank;
        }
        pace.formulas.push_back(fmt::format(
            "step of stage {} with n sequences = {:.3g} us + {:.4g} B / {:.4g} B/s + {} layers x "
            "{:.3g} us + n x {:.4g} products / {:.4g}/s{} = {:.3g} ms + n x {:.3g} ms{}",
            s, rates.step_s * 1e6, static_cast<double>(stage.weights - stage.experts), rates.bytes_per_s, own,
            each_layer * 1e6, products, rates.products_per_s,
            stage.host_layers > 0 ? fmt::format(" + {:.3g} ms + n x {:.3g} ms for experts in host memory",
                                                host.layers_s * 1e3, host.each_s * 1e3)
                                  : "",
            time.fixed_s * 1e3, time.each_s * 1e3, rates.measured ? ", as calibrated" : ""));
        if (stage.host_layers > 0 && streams)
            pace.formulas.push_back(
                fmt::format("passes of {} tokens and more copy the experts in host memory of stage {} to the "
                            "GPU: {:.4g} B / {:.4g} B/s = {:.3g} ms",
                            replica.streamed_rows, s, static_cast<double>(stage.host_experts_sent),
                            host.link_bytes_per_s, host.copy_s * 1e3));
        if (stage.host_layers > 0)
            pace.formulas.push_back(fmt::format(
                "reading all experts in host memory of stage {} = {:.4g} B / {:.4g} B/s = {:.3g} ms", s,
                mean_expert_bytes(stage, stage.host_experts, weights), host.bytes_per_s, host.read_s * 1e3));
    }
    if (weights.unused_experts > 0)
        pace.formulas.push_back(fmt::format(
            "reading experts in a step = {:.3g} ms x (1 - {:.4g}^n): n tokens choose them at random",
            std::accumulate(pace.stages.begin(), pace.stages.end(), 0.0,
                            [](double sum, const StagePace& stage) {
                                return sum + stage.experts_s + stage.host_experts_s;
                            }) *
                1e3,
            weights.unused_experts));
    const int sequences = replica.request.sequences;
    const int ranks = replica.stages.front().expert_ranks;
    const auto busiest = [&](int n) {
        return busiest_rank(static_cast<double>(weights.experts), ranks,
                            1 - std::pow(weights.unused_experts, n));
    };
    if (ranks > 1)
        pace.formulas.push_back(fmt::format(
            "ranks have whole experts: the busiest of {} is expected to read {:.3g} times the mean for one "
            "token, {:.3g} for {}",
            ranks, busiest(1), busiest(sequences), sequences));
    pace.prompt = 1 / longest_prompt;
    pace.one_sequence = pace.with(1);
    pace.all_sequences = pace.with(sequences);
    pace.formulas.push_back(fmt::format(
        "tokens/s = 1 / (sum over stages) = {:.4g}; with {} sequences {:.4g}; reading prompts {:.4g}",
        pace.one_sequence, sequences, pace.all_sequences, pace.prompt));
    return pace;
}

}  // namespace voltpile::llm
