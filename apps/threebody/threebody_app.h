// The three-body app: computes how long a system and its slightly shifted twin stay together, over a grid of
// starting values.
#pragma once

#include <memory>
#include <vector>

#include "job/job_spec.h"
#include "run/app.h"
#include "threebody/outcome_fields.h"
#include "threebody/problem.h"

namespace voltpile {

class ThreebodyApp : public App {
  public:
    explicit ThreebodyApp(const JobSpec& job);

    std::vector<FieldSpec> fields() const override;
    Workload workload() const override;
    std::vector<std::string> warnings() const override;

    // Computes on this rank's GPU if the plan gives it one, else on its cores.
    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    threebody::Problem problem_;
    std::vector<threebody::OutcomeField> fields_;
    std::int64_t points_;
};

std::unique_ptr<App> make_threebody(const JobSpec& job);

}  // namespace voltpile
