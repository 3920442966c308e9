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

EvalRequests plan_both(const ModelSource& model, const ModelSource& reference, const ReplicaRequest& request,
                       const Topology& topology) {
    EvalRequests both{request, request};
    both.reference.cache = KvElement::F16;
    ReplicaPlan plan = plan_reference(reference, both.reference, topology);
    const TeamPlan teams = plan.plan.teams;
    both.reference.tensor = both.model.tensor = teams.tensor;
    auto most = std::min(model.config().layers, reference.config().layers);
    most = std::min(most, std::ssize(topology.ranks) / teams.tensor);
    most = request.pipeline > 0 ? request.pipeline : std::max<std::ptrdiff_t>(most, teams.pipeline);
    std::optional<MachineError> why;
    for (int stages = teams.pipeline; stages <= most; ++stages) {
        both.reference.pipeline = both.model.pipeline = stages;
        try {
            plan = plan_replica(reference, both.reference, topology);
            both.model.taken = plan.takes;
            plan_replica(model, both.model, topology);
            return both;
        } catch (const MachineError& error) {
            if (!why) why = error;
        }
    }
    throw MachineError(*why);
}

}  // namespace voltpile::llm
