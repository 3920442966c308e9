#include "llm/replica/replica_refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/format.h"
#include "llm/replica/experts_on_host.h"

namespace voltpile::llm {
namespace {

// Returns how many processors with this much room hold the model in groups as in `like`; 0: no number.
int enough_processors(const ReplicaPlan& like, const ReplicaRoom& room, std::int64_t layers, double each) {
    const int tensor = like.plan.teams.tensor;
    for (int p = 1; p <= layers; ++p) {
        const std::vector<double> equal(static_cast<std::size_t>(p), each);
        if (room.fits(room.stages_of(layout_of(like.plan), tensor, equal,
                                     std::max(like.request.experts_on_host, 0), like.rows_to_cut > 0),
                      equal))
            return tensor * p;
    }
    return 0;
}

// Returns the billions of parameters of a larger or smaller model like this one that would fit beside the
// same cache; 0 if there is no room for weights at all.
double largest_model(const ReplicaPlan& plan, const std::vector<double>& capacities, std::uint64_t tokens,
                     const WeightBytes& weights) {
    double share = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < capacities.size(); ++s) {
        const auto cache = static_cast<double>(plan.stages[s].kv_per_token * tokens);
        share = std::min(share, (capacities[s] - cache) / static_cast<double>(plan.stages[s].all_weights()));
    }
    return share > 0 ? share * static_cast<double>(weights.weights) / 1e9 : 0;
}

bool fits_without_whole_layers(ReplicaPlan plan, const ReplicaRoom& room) {
    plan.rows_to_cut = 0;
    room.cut(plan);
    return room.fits(plan);
}

// Says why experts in host memory do not help; empty if the plan had no such choice.
std::string no_help_from_host(const std::optional<ReplicaPlan>& all_on_host, const ReplicaRoom& room) {
    if (!all_on_host) return "";
    if (!room.fits_gpus(*all_on_host)) return ", nor would it fit with all experts in host memory";
    return fmt::format("; with experts in host memory it would, but {}", host_memory_obstacle(*all_on_host));
}

}  // namespace

void refuse(const ReplicaPlan& plan, const std::optional<ReplicaPlan>& all_on_host, const ReplicaRoom& room,
            const ModelConfig& config, const WeightBytes& weights) {
    const ReplicaRequest& request = plan.request;
    if (room.fits_gpus(plan))
        throw MachineError(fmt::format("the model does not fit: {}", host_memory_obstacle(plan)));
    const std::vector<double> capacities = room.capacities(plan);
    std::size_t worst = 0;
    for (std::size_t s = 0; s < capacities.size(); ++s)
        if (room.need(plan.stages[s]) / capacities[s] > room.need(plan.stages[worst]) / capacities[worst])
            worst = s;
    const StageNeeds& stage = plan.stages[worst];
    const int rank = plan.plan.teams.teams.front().stages[worst].front();
    const RankPlan& where = plan.plan.ranks[static_cast<std::size_t>(rank)];
    const bool gpu = where.gpu >= 0;
    const auto bytes = [](auto count) { return bytes_text(static_cast<double>(count)); };
    std::vector<std::string> ways;
    if (stage.whole_layers > 0 && fits_without_whole_layers(plan, room))
        ways.emplace_back("without --context-parallel on");
    if (const auto most = room.most_tokens(plan, room.tokens()) /
                          static_cast<std::uint64_t>(request.shrinks ? 1 : request.sequences);
        most > 0)
        ways.push_back(
            fmt::format("with a context of at most {} tokens", count_text(static_cast<std::int64_t>(most))));
    if (const auto batch = static_cast<std::int64_t>(room.most_tokens(plan, room.tokens())) / kv_page_tokens /
                           request.pages_per_sequence();
        batch > 0 && batch < request.sequences)
        ways.push_back(fmt::format("with at most {} sequence{} at once", batch, batch == 1 ? "" : "s"));
    if (const int count = request.taken.empty()
                              ? enough_processors(plan, room, config.layers, std::ranges::min(capacities))
                              : 0;
        count > ranks_of(plan))
        ways.push_back(fmt::format("on {} {}", count, gpu ? "such GPUs" : "ranks with this much each"));
    if (const double most = largest_model(plan, capacities, room.tokens(), weights); most > 0)
        ways.push_back(
            fmt::format("with a model of at most {:.3g} billion parameters in this precision", most));
    throw MachineError(fmt::format(
        "the model does not fit: over {} rank{} (TP{} x PP{}) rank {} on {} needs {} for weights{} and {} "
        "for the keys and values of {} tokens, and {} has {}{}{}{}{}",
        ranks_of(plan), ranks_of(plan) == 1 ? "" : "s", plan.plan.teams.tensor, plan.plan.teams.pipeline,
        rank, plan.plan.host_of(where).name, bytes(stage.weights),
        stage.whole_layers > 0 ? fmt::format(", {} for whole layers", bytes(stage.whole_layers)) : "",
        bytes(stage.kv_per_token * room.tokens()), count_text(static_cast<std::int64_t>(room.tokens())),
        gpu ? "its " + processor_text(plan.plan, where) : "its share of the host's memory",
        capacities[worst] > ReplicaRoom::none ? "room for " + bytes(capacities[worst])
                                              : "none beside the working memory of a pass",
        room.taken(worst) > 0 ? fmt::format(" beside the {} of the other model", bytes(room.taken(worst)))
                              : "",
        no_help_from_host(all_on_host, room), ways.empty() ? "" : "; it would fit ",
        fmt::join(ways, ", or ")));
}

}  // namespace voltpile::llm
