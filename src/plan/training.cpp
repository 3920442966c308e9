#include "plan/training.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/format.h"

namespace voltpile {
namespace {

constexpr double kBytesOfFrozenWeight = 2;
// CUDA, kernels and NCCL, as apps/llm counts them for inference over several GPUs.
constexpr double kReservedBytes = 1.6e9;

// Bytes for all GPUs together.
double training_bytes(const TrainingRequest& request) {
    if (request.lora_rank == 0) return kTrainingBytesPerParameter * request.parameters;
    return kBytesOfFrozenWeight * request.parameters +
           kTrainingBytesPerParameter * lora_parameters(request.parameters, request.lora_rank);
}

// Returns the largest number of parameters whose training takes at most `bytes`: the need grows with it.
double most_parameters(const TrainingRequest& request, double bytes) {
    double low = 0, high = 1e15;
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        (training_bytes({middle, request.lora_rank}) <= bytes ? low : high) = middle;
    }
    return low;
}

std::string billions(double parameters) {
    return fmt::format("{:.3g} billion", parameters / 1e9);
}

}  // namespace

double lora_parameters(double parameters, int rank) {
    const double hidden = std::cbrt(128 * parameters / 12);
    const double layers = hidden / 128;
    const double rows_and_columns = 4 * 2 + 3 * 3.7;  // in units of h: Q, K, V, output; gate, up, down
    return rows_and_columns * hidden * rank * layers;
}

TrainingPlan plan_training(const TrainingRequest& request, const Topology& topology) {
    TrainingPlan plan;
    plan.trained =
        request.lora_rank == 0 ? request.parameters : lora_parameters(request.parameters, request.lora_rank);
    plan.bytes = training_bytes(request);
    for (const Host& host : topology.hosts)
        for (std::size_t g = 0; g < host.gpus.size(); ++g) {
            const auto bytes = static_cast<double>(host.gpus[g].memory_bytes);
            if (plan.gpus++ > 0 && bytes >= plan.smallest_gpu_bytes) continue;
            plan.smallest_gpu_bytes = bytes;
            plan.smallest_gpu = fmt::format("GPU {} ({}) of {}", g, host.gpus[g].name, host.name);
        }
    if (plan.gpus == 0) throw MachineError("--training: the machine has no GPUs");
    plan.bytes_of_gpu = plan.bytes / plan.gpus + kReservedBytes;
    const double room = plan.smallest_gpu_bytes - kReservedBytes;
    if (room > 0) {
        plan.largest_parameters = most_parameters(request, room * plan.gpus);
        plan.gpus_needed = static_cast<int>(std::ceil(plan.bytes / room));
    }
    return plan;
}

std::string to_text(const TrainingRequest& request, const TrainingPlan& plan, bool explain) {
    std::string text = fmt::format(
        "training  {} parameters{}\nmemory    {} for weights, gradients and AdamW, without activations\n"
        "each GPU  {} of {} on {}, sharded over {} GPU{}\n",
        billions(request.parameters),
        request.lora_rank == 0 ? ""
                               : fmt::format(", of which {:.4g} million in adapters of rank {} are trained",
                                             plan.trained / 1e6, request.lora_rank),
        bytes_text(plan.bytes), bytes_text(plan.bytes_of_gpu), bytes_text(plan.smallest_gpu_bytes),
        plan.smallest_gpu, plan.gpus, plan.gpus == 1 ? "" : "s");
    text += fmt::format("it {}; the largest model that fits has {} parameters\n",
                        plan.fits() ? "fits" : "does not fit", billions(plan.largest_parameters));
    if (!plan.fits() && plan.gpus_needed > 0)
        text += fmt::format("it would fit on {} such GPUs\n", plan.gpus_needed);
    if (explain) {
        text += "\nhow the estimates come about:\n";
        text += request.lora_rank == 0
                    ? fmt::format("  memory = {:g} B x {:.4g} parameters\n", kTrainingBytesPerParameter,
                                  request.parameters)
                    : fmt::format("  memory = {:g} B x {:.4g} frozen + {:g} B x {:.4g} trained parameters\n",
                                  kBytesOfFrozenWeight, request.parameters, kTrainingBytesPerParameter,
                                  plan.trained);
        text += fmt::format("  each GPU = {} / {} + {} for CUDA and connections\n", bytes_text(plan.bytes),
                            plan.gpus, bytes_text(kReservedBytes));
    }
    return text;
}

}  // namespace voltpile
