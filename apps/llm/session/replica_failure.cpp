#include "llm/session/replica_failure.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "comm/mpi/message_tags.h"
#include "run/agreement.h"

namespace voltpile::llm {
namespace {

constexpr std::chrono::milliseconds report_time{2000}, report_look{10};

ReplicaFailure failure_here(const Replica& replica, const std::exception& error) {
    const Plan& plan = replica.plan().plan;
    const RankPlan& rank = plan.ranks[static_cast<std::size_t>(replica.world_rank())];
    return {exit_code_of(error),
            fmt::format("rank {} on {}: {}", replica.world_rank(), plan.host_of(rank).name, error.what())};
}

}  // namespace

void report_failure(Replica& replica, const std::exception& error) {
    const ReplicaFailure failure = failure_here(replica, error);
    replica.teams().team().send(0, kReplicaFailureTag, static_cast<char>(failure.exit_code) + failure.why);
    replica.call_off(failure.why);
}

ReplicaFailure find_failure(Replica& replica, const std::exception& error) {
    replica.call_off(error.what());
    const Communicator& team = replica.teams().team();
    const bool others = dynamic_cast<const CommError*>(&error) != nullptr && team.size() > 1;
    const auto end = std::chrono::steady_clock::now() + report_time;
    while (others && std::chrono::steady_clock::now() < end) {
        if (const auto report = team.poll(kReplicaFailureTag))
            return {static_cast<ExitCode>(report->bytes.front()), report->bytes.substr(1)};
        std::this_thread::sleep_for(report_look);
    }
    return failure_here(replica, error);
}

}  // namespace voltpile::llm
