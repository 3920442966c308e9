// The reference that n-body results are checked against: the points of a sample, computed with rkn8 at a
// tolerance near rounding.
#pragma once

#include <optional>
#include <vector>

#include "nbody/problem.h"
#include "run/app.h"
#include "sweep/outcome_field.h"

namespace voltpile::nbody {

// Returns the keys of the table [check].
std::vector<KeySpec> check_keys();

// Reports a check that has nothing to compare.
void refuse_useless_check(const JobSpec& job, const ReportProblem& report);

// Returns the check that the job asks for; nothing if it asks for none.
std::optional<CheckPlan> check_from_job(const JobSpec& job);

class Reference : public App {
  public:
    // points: of the job's sweep, rising.
    Reference(const JobSpec& job, std::vector<std::int64_t> points);

    std::vector<FieldSpec> fields() const override;
    ResultLayout layout(const JobSpec& job) const override;
    Workload workload() const override;
    Plan plan(const PlanOptions& options, const Topology& topology) override;
    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    Problem problem_;
    std::vector<double> frames_;  // problem_ points to it
    std::vector<OutcomeField> fields_;
    std::vector<std::int64_t> points_;
};

}  // namespace voltpile::nbody
