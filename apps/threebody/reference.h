// The reference that three-body results are checked against: the points of a sample, computed on CPU cores
// with the best adaptive method at a tolerance near rounding; in double-double where the job computes in it
// or the tolerance is below what FP64 can deliver.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sweep/check_reference.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Returns the keys of the table [check].
std::vector<KeySpec> check_keys();

// Reports a check that has nothing to compare, or a reference that is no better than the result.
void refuse_useless_check(const JobSpec& job, const ReportProblem& report);

// Returns the check that the job asks for; nothing if it asks for none.
std::optional<CheckPlan> check_from_job(const JobSpec& job);

class Reference : public CheckReference {
  public:
    // points: of the job's sweep, rising.
    Reference(const JobSpec& job, std::vector<std::int64_t> points);

    Workload workload() const override;

  private:
    void sweep_sample(PointStream& stream) const override;

    Problem problem_;
    std::vector<double> frames_;  // problem_ points to it
};

}  // namespace voltpile::threebody
