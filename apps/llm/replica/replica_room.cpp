#include "llm/replica/replica_room.h"

#include <algorithm>
#include <limits>

#include "llm/model/expert_tensors.h"
#include "llm/model/gpu_memory.h"
#include "llm/model/integer_copies.h"
#include "llm/model/lora/adapter_memory.h"
#include "llm/replica/experts_on_host.h"

namespace voltpile::llm {
namespace {

std::uint64_t room_for_cache(const ReplicaPlan& plan, std::size_t stage, double room) {
    return static_cast<std::uint64_t>(
        std::max(room - static_cast<double>(plan.streamed_bytes(plan.stages[stage])), 0.0));
}

// Returns the most columns of a row that all GPUs of a stage round to integers; 0 if one of them has no
// products of integers.
std::int64_t most_columns_of(const Plan& plan, std::size_t stage) {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const Team& team : plan.teams.teams)
        for (const int rank : team.stages[stage]) {
            const RankPlan& at = plan.ranks[static_cast<std::size_t>(rank)];
            const int capability = plan.host_of(at).gpus[static_cast<std::size_t>(at.gpu)].compute_capability;
            most = std::min(most, has_integer_tensor_cores(capability) ? most_integer_columns(capability)
                                                                       : std::int64_t{0});
        }
    return most;
}

}  // namespace

WeightLayout layout_of(const Plan& plan) {
    const int rank = plan.teams.teams.front().stages.front().front();
    return plan.ranks[static_cast<std::size_t>(rank)].gpu >= 0 ? WeightLayout::Gpu : WeightLayout::File;
}

std::uint64_t connection_bytes(const Plan& plan) {
    const bool any = layout_of(plan) == WeightLayout::Gpu && plan.teams.tensor > 1;
    return any ? static_cast<std::uint64_t>(connection_bytes_of_gpu) : 0;
}

void ReplicaRoom::cut(ReplicaPlan& plan) const {
    set_working(plan);
    plan.stages = stages_of(layout_of(plan.plan), plan.plan.teams.tensor, capacities(plan),
                            plan.experts_on_host, plan.rows_to_cut > 0);
}

std::vector<StageNeeds> ReplicaRoom::stages_of(WeightLayout layout, int tensor,
                                               const std::vector<double>& room, int experts_on_host,
                                               bool whole_layers) const {
    if (model_.config().prediction) return stages_of_prediction(layout, tensor, room);
    std::vector<StageNeeds> stages = cut_into_stages(model_, layout, tensor, room, request_.cache,
                                                     experts_on_host, request_.embeds_last, whole_layers);
    if (request_.prediction_rows() > 0)
        stages.back().kv_per_token += hidden_row_bytes(model_.config(), layout);
    return stages;
}

std::vector<StageNeeds> ReplicaRoom::stages_of_prediction(WeightLayout layout, int tensor,
                                                          const std::vector<double>& room) const {
    std::vector<StageNeeds> stages(room.size() - 1);
    stages.push_back(cut_into_stages(model_, layout, tensor, {&room.back(), 1}, request_.cache).front());
    return stages;
}

void ReplicaRoom::set_working(ReplicaPlan& plan) const {
    const TeamPlan& teams = plan.plan.teams;
    const PassShape pass{teams.tensor,
                         model_.config().prediction ? 1 : teams.pipeline,  // its rows go to no next stage
                         plan.request.rows,
                         request_.limits().logits,
                         adapter_buffers(model_),
                         has_whole_experts(model_, teams.tensor),
                         request_.prediction_rows(),
                         static_cast<int>(request_.read_layers.size()),
                         plan.rows_to_cut > 0,
                         has_ordered_columns(model_)};
    plan.working = working_bytes(model_.config(), layout_of(plan.plan), pass);
    plan.host_working = plan.experts_on_host > 0 ? host_working_bytes(model_.config(), pass) : 0;
}

double ReplicaRoom::room_of(const ReplicaPlan& replica, int rank) const {
    const Plan& plan = replica.plan;
    const auto at = static_cast<std::size_t>(rank);
    if (plan.ranks[at].gpu >= 0)
        return static_cast<double>(candidates_[at].memory_bytes) - reserved_bytes_of_gpu(plan.teams.tensor) -
               static_cast<double>(replica.working);
    std::int64_t sharing = 0;
    for (std::size_t other = 0; other < plan.ranks.size(); ++other)
        sharing += plan.ranks[other].host == plan.ranks[at].host && plan.ranks[other].gpu < 0 &&
                   plan.teams.places[other].replica >= 0;
    const double left = static_cast<double>(plan.host_of(plan.ranks[at]).memory_bytes) -
                        static_cast<double>(request_.taken_of_host(plan.ranks[at].host));
    return left / static_cast<double>(sharing) - reserved_bytes_of_host -
           static_cast<double>(replica.working);
}

std::vector<double> ReplicaRoom::capacities(const ReplicaPlan& plan) const {
    std::vector<double> least(static_cast<std::size_t>(plan.plan.teams.pipeline), 1e300);
    for (const Team& team : plan.plan.teams.teams)
        for (std::size_t s = 0; s < least.size(); ++s)
            for (const int rank : team.stages[s])
                least[s] = std::min(least[s], std::max(room_of(plan, rank) - taken(s), none));
    return least;
}

bool ReplicaRoom::fits(const std::vector<StageNeeds>& stages, const std::vector<double>& room) const {
    for (std::size_t s = 0; s < stages.size(); ++s)
        if (need(stages[s]) > room[s]) return false;
    return true;
}

bool ReplicaRoom::fits_gpus(const ReplicaPlan& plan) const {
    std::vector<double> room = capacities(plan);
    for (std::size_t s = 0; s < room.size(); ++s)
        room[s] -= static_cast<double>(plan.streamed_bytes(plan.stages[s]));
    return fits(plan.stages, room);
}

bool ReplicaRoom::fits(const ReplicaPlan& plan) const {
    return fits_gpus(plan) && host_memory_obstacle(plan).empty();
}

void ReplicaRoom::keep_integers(ReplicaPlan& plan) const {
    constexpr double share = 0.95;  // of the room; the rest is for what the plan does not know
    if (layout_of(plan.plan) != WeightLayout::Gpu || !plan.request.copies) return;
    const std::vector<double> room = capacities(plan);
    for (std::size_t s = 0; s < room.size(); ++s) {
        StageNeeds& stage = plan.stages[s];
        const double left = share * room[s] - static_cast<double>(plan.kept_bytes(stage));
        const std::int64_t columns = most_columns_of(plan.plan, s);
        if (left <= 0 || columns == 0) continue;
        const auto all = [&](int ranks) {
            return integer_bytes(model_, stage.layer_begin, stage.layer_end, ranks, columns);
        };
        const std::uint64_t wanted = all(plan.plan.teams.tensor) + (stage.whole_layers > 0 ? all(1) : 0);
        stage.integers = static_cast<std::uint64_t>(std::min(left, static_cast<double>(wanted)));
    }
}

std::uint64_t ReplicaRoom::most_tokens(const ReplicaPlan& plan, std::uint64_t wanted) const {
    const std::vector<double> room = capacities(plan);
    std::uint64_t least = wanted;
    for (std::size_t s = 0; s < room.size(); ++s)
        least = std::min(least, tokens_in({&plan.stages[s], 1}, room_for_cache(plan, s, room[s])));
    return least / kv_page_tokens * kv_page_tokens;
}

}  // namespace voltpile::llm
