#include "llm/eval/eval_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.h"

namespace voltpile::llm {
namespace {

ReplicaPlan plan_reference(const ModelSource& reference, const ReplicaRequest& request,
                           const Topology& topology) {
    try {
        return plan_replica(reference, request, topology);
    } catch (const MachineError& error) {
        throw MachineError(fmt::format("the reference alone: {}", error.what()));
    }
}

}  // namespace

EvalPlans plan_both(const ModelSource& model, const ModelSource& reference, const ReplicaRequest& request,
                    const Topology& topology) {
    ReplicaRequest other = request, beside = request;
    if (is_quantized(other.cache)) other.cache = KvElement::F16;
    EvalPlans both;
    both.reference = plan_reference(reference, other, topology);
    const TeamPlan teams = both.reference.plan.teams;
    other.tensor = beside.tensor = teams.tensor;
    auto most = std::min(model.config().layers, reference.config().layers);
    most = std::min(most, std::ssize(topology.ranks) / teams.tensor);
    most = request.pipeline > 0 ? request.pipeline : std::max<std::ptrdiff_t>(most, teams.pipeline);
    std::optional<MachineError> why;
    for (int stages = teams.pipeline; stages <= most; ++stages) {
        other.pipeline = beside.pipeline = stages;
        try {
            if (stages > teams.pipeline) both.reference = plan_replica(reference, other, topology);
            beside.taken = both.reference.takes;
            both.model = plan_replica(model, beside, topology);
            return both;
        } catch (const MachineError& error) {
            if (!why) why = error;
        }
    }
    throw MachineError(*why);
}

}  // namespace voltpile::llm
