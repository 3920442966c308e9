#include "llm/replica/replica_estimates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "llm/replica/experts_on_host.h"
#include "llm/replica/replica_pace.h"

namespace voltpile::llm {
namespace {

// Says how the memory of each stage comes about, and which GPU is the fullest.
void explain_memory(ReplicaPlan& out, const ReplicaRoom& room, const ModelConfig& config) {
    const auto bytes = [](auto count) { return bytes_text(static_cast<double>(count)); };
    out.plan.formulas.clear();
    for (std::size_t s = 0; s < out.stages.size(); ++s) {
        const StageNeeds& stage = out.stages[s];
        if (stage.empty()) continue;
        out.plan.formulas.push_back(fmt::format(
            "memory of stage {} = {} of weights (layers {} to {}){} + {} B a token x {} tokens + {} for "
            "activations and scratch space + {} for connections{}{} = {}",
            s, bytes(stage.weights), stage.layer_begin, stage.layer_end - 1,
            stage.whole_layers > 0 ? fmt::format(" + {} for whole layers", bytes(stage.whole_layers)) : "",
            stage.kv_per_token, count_text(std::int64_t{out.pages} * kv_page_tokens), bytes(out.working),
            bytes(connection_bytes(out.plan)),
            out.streamed_rows > 0 && stage.host_layers > 0
                ? fmt::format(" + {} for a layer's experts from host memory",
                              bytes(out.streamed_bytes(stage)))
                : "",
            stage.integers > 0 ? fmt::format(" + {} for copies of weights as integers", bytes(stage.integers))
                               : "",
            bytes(out.takes[s])));
        if (stage.host_layers > 0)
            out.plan.formulas.push_back(
                fmt::format("host memory of stage {} = {} of experts of {} layers + {} for their passes", s,
                            bytes(stage.host_experts), stage.host_layers, bytes(out.host_working)));
    }
    if (const std::string text = experts_on_host_text(out, config); !text.empty())
        out.plan.notes.push_back(text);
    int fullest = -1;
    double most = 0;
    for (std::size_t r = 0; r < out.plan.ranks.size(); ++r) {
        const RankPlan& rank = out.plan.ranks[r];
        if (rank.gpu_memory_bytes == 0) continue;
        const double share = static_cast<double>(rank.gpu_memory_bytes) /
                             static_cast<double>(room.candidate(static_cast<int>(r)).memory_bytes);
        if (share <= most) continue;
        most = share;
        fullest = static_cast<int>(r);
    }
    if (fullest < 0) return;
    const auto at = static_cast<std::size_t>(fullest);
    const RankPlan& rank = out.plan.ranks[at];
    out.plan.notes.push_back(fmt::format(
        "the fullest GPU is that of rank {}: {} of {}, {} of them for CUDA", fullest,
        bytes(rank.gpu_memory_bytes), bytes(room.candidate(fullest).memory_bytes), bytes(cuda_bytes_of_gpu)));
}

void estimate_speed(ReplicaPlan& out, std::int64_t points, const WeightBytes& weights) {
    const ReplicaPace pace = estimate_pace(out, weights);
    if (pace.one_sequence <= 0) return;
    // A pass with one row goes through all stages, one after the other; prompts keep all of them busy.
    const double of_stage_s = 1 / pace.one_sequence / out.plan.teams.pipeline;
    if (pace.prompt > 0)
        out.pass_rows = static_cast<int>(std::clamp(std::round(of_stage_s * pace.prompt), 1.0, 1024.0));
    const auto replicas = static_cast<double>(out.plan.teams.teams.size());
    double rate = pace.all_sequences;  // of a replica
    if (points > 0) {
        const double units = out.plan.workload.units_per_point;
        const double each = static_cast<double>(points) / replicas;
        out.plan.seconds = pace.seconds(each, out.request.sequences, out.request.prompt_tokens,
                                        units - out.request.prompt_tokens);
        rate = each * units / out.plan.seconds;
    }
    for (std::size_t r = 0; r < out.plan.ranks.size(); ++r)
        if (out.plan.teams.places[r].replica >= 0) out.plan.ranks[r].units_per_s = rate / ranks_of(out);
    out.plan.formulas.insert(out.plan.formulas.end(), pace.formulas.begin(), pace.formulas.end());
    out.plan.notes.push_back(
        fmt::format("a replica generates about {:.3g} tokens/s with one sequence and {:.3g} with {}; "
                    "rank {} is the slowest",
                    pace.one_sequence, pace.all_sequences, out.request.sequences, pace.slowest_rank));
}

}  // namespace

void add_estimates(ReplicaPlan& out, std::int64_t points, const ReplicaRoom& room, const ModelConfig& config,
                   const WeightBytes& weights) {
    double points_per_s = 0;
    for (const double speed : leader_speeds(out.plan)) points_per_s += speed;
    out.plan.workload.points = points;
    out.plan.seconds = static_cast<double>(points) / points_per_s;
    out.plan.start_s = out.plan.end_s = 0;  // how long the model loads is not known
    for (const StageNeeds& stage : out.stages)
        out.takes.push_back(out.kept_bytes(stage) + connection_bytes(out.plan) +
                            (stage.empty() ? 0 : out.working));
    for (std::size_t r = 0; r < out.plan.ranks.size(); ++r) {
        RankPlan& rank = out.plan.ranks[r];
        const TeamPlace& place = out.plan.teams.places[r];
        if (place.replica < 0) continue;
        const auto bytes = static_cast<std::int64_t>(out.takes[static_cast<std::size_t>(place.stage)]);
        if (rank.gpu >= 0) {
            rank.gpu_memory_bytes = bytes + static_cast<std::int64_t>(cuda_bytes_of_gpu);
            rank.memory_bytes +=
                static_cast<std::int64_t>(cuda_bytes_of_host) +
                static_cast<std::int64_t>(host_expert_bytes(out, static_cast<std::size_t>(place.stage)));
        } else {
            rank.memory_bytes += bytes;
        }
    }
    explain_memory(out, room, config);
    estimate_speed(out, points, weights);
}

}  // namespace voltpile::llm
