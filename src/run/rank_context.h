// What one rank owns and knows while a job runs. The app gets it instead of globals.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace voltpile {

class RankContext {
  public:
    RankContext(const Plan& plan, int world_rank, std::filesystem::path result)
        : plan_(plan),
          world_rank_(world_rank),
          result_(std::move(result)),
          leads_(leader_speeds(plan)[static_cast<std::size_t>(world_rank)] > 0) {}

    const Plan& plan() const { return plan_; }
    const RankPlan& mine() const { return plan_.ranks[static_cast<std::size_t>(world_rank_)]; }
    int world_rank() const { return world_rank_; }
    const std::filesystem::path& result() const { return result_; }  // the file that the job writes
    // Returns the hardware threads of this rank's cores, one for each, by the operating system's index.
    std::vector<int> pus() const {
        const Host& host = plan_.topology.hosts[static_cast<std::size_t>(mine().host)];
        std::vector<int> pus;
        for (const int core : mine().cores) pus.push_back(host.cores[static_cast<std::size_t>(core)].pu);
        return pus;
    }
    const TeamPlace& place() const { return plan_.teams.places[static_cast<std::size_t>(world_rank_)]; }
    bool idle() const { return plan_.teams.replica_of(world_rank_) < 0; }  // works for no team
    bool leads() const { return leads_; }                                  // takes the ranges of its team

  private:
    const Plan& plan_;
    int world_rank_;
    std::filesystem::path result_;
    bool leads_;
};

}  // namespace voltpile
