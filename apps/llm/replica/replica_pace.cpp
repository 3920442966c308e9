#include "llm/replica/replica_pace.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile::llm {
namespace {

// Shares of the theoretical rates that decode steps reach, and the time of a sum within a group, from the
// measurements on H200 in docs/benchmarks.md.
constexpr double kShareOfBandwidth = 0.66;
constexpr double kShareOfTensorRate = 0.25;
constexpr double kSumSeconds = 12e-6;          // between two GPUs over NVLink
constexpr double kSumOverPcieSeconds = 40e-6;  // assumed: not measured
constexpr double kMoreForEachRank = 0.25;      // of the time between two GPUs, for each further rank

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
    double bytes_per_s = 0;     // of the slowest GPU in the stage
    double products_per_s = 0;  // likewise
    double sum_s = 0;           // of one sum within the group
    int slowest_rank = -1;
};

const Gpu* gpu_of(const Plan& plan, int rank) {
    const RankPlan& at = plan.ranks[static_cast<std::size_t>(rank)];
    return at.gpu < 0 ? nullptr : &plan.host_of(at).gpus[static_cast<std::size_t>(at.gpu)];
}

// Returns rates of 0 if a GPU's bandwidth is unknown.
StageRates rates_of(const Plan& plan, std::size_t stage) {
    StageRates rates;
    bool nvlink = true;
    for (const Team& team : plan.teams.teams)
        for (const int rank : team.stages[stage]) {
            const Gpu* gpu = gpu_of(plan, rank);
            if (!gpu || gpu->memory_gb_per_s <= 0) return {};
            nvlink = nvlink && gpu->nvlink_island >= 0;
            const double bytes = gpu->memory_gb_per_s * 1e9 * kShareOfBandwidth;
            const double products =
                gpu->multiprocessors * products_per_clock(*gpu) * gpu->clock_ghz * 1e9 * kShareOfTensorRate;
            if (rates.slowest_rank >= 0 && bytes >= rates.bytes_per_s) continue;
            rates = {bytes, products, 0, rank};
        }
    const int tensor = plan.teams.tensor;
    if (tensor > 1)
        rates.sum_s = (nvlink ? kSumSeconds : kSumOverPcieSeconds) * (1 + kMoreForEachRank * (tensor - 2));
    return rates;
}

}  // namespace

ReplicaPace estimate_pace(const ReplicaPlan& replica, std::uint64_t weights) {
    ReplicaPace pace;
    const int layers = replica.stages.back().layer_end;
    const int stages = static_cast<int>(replica.stages.size());
    const double batch = std::max(1.0, static_cast<double>(replica.request.sequences) / stages);
    double sum_of_one = 0, longest = 0;
    for (std::size_t s = 0; s < replica.stages.size(); ++s) {
        const StageNeeds& stage = replica.stages[s];
        const StageRates rates = rates_of(replica.plan, s);
        if (rates.bytes_per_s <= 0) return {};
        const int own = stage.layer_end - stage.layer_begin;
        const double products = static_cast<double>(weights) * own / layers / replica.plan.teams.tensor;
        const double fixed = static_cast<double>(stage.weights) / rates.bytes_per_s + 2 * own * rates.sum_s;
        const double each = products / rates.products_per_s;
        sum_of_one += fixed + each;
        if (fixed + batch * each > longest) {
            longest = fixed + batch * each;
            pace.slowest_rank = rates.slowest_rank;
        }
        pace.formulas.push_back(
            fmt::format("step of stage {} with n sequences = {:.4g} B / {:.4g} B/s + 2 x {} layers x {:.3g} "
                        "us + n x {:.4g} "
                        "products / {:.4g}/s = {:.3g} ms + n x {:.3g} ms",
                        s, static_cast<double>(stage.weights), rates.bytes_per_s, own, rates.sum_s * 1e6,
                        products, rates.products_per_s, fixed * 1e3, each * 1e3));
    }
    const int sequences = replica.request.sequences;
    pace.one_sequence = 1 / sum_of_one;
    pace.all_sequences =
        sequences <= 1 ? pace.one_sequence : sequences / (std::min(stages, sequences) * longest);
    pace.formulas.push_back(fmt::format("tokens/s = 1 / (sum over stages) = {:.4g}; with {} sequences {:.4g}",
                                        pace.one_sequence, sequences, pace.all_sequences));
    return pace;
}

}  // namespace voltpile::llm
