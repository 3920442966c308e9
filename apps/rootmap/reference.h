// The reference that root maps are checked against: the points of a sample, computed on CPU cores in
// double-double.
#pragma once

#include <optional>
#include <vector>

#include "rootmap/problem.h"
#include "sweep/check_reference.h"

namespace voltpile::rootmap {

// Returns the keys of the table [check].
std::vector<KeySpec> check_keys();

// Reports a check whose reference would be no better than the result.
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

}  // namespace voltpile::rootmap
