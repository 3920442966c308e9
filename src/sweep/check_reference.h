// The reference that the results of sweeps are checked against: the points of a sample, computed on CPU cores
// in a better way. The keys of the table [check] ask for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "sweep/sweep_app.h"

namespace voltpile {

// Returns the keys check.points, check.seed and check.within. how: completes "points to compute again".
std::vector<KeySpec> check_keys(const std::string& how);

// Returns the check that the job asks for; nothing if it asks for none. method: as CheckPlan::method.
std::optional<CheckPlan> check_from_job(const JobSpec& job, const std::string& method);

// An error of a GPU must not be in its reference.
class CheckReference : public SweepApp {
  public:
    // Its points are those of the sample.
    ResultLayout layout(const JobSpec& job) const override;

    void connect(const MpiSession&) override {}  // there is no GPU to prepare

  protected:
    // points: of the job's sweep, rising. how: the way of computing, for the fingerprint.
    CheckReference(std::vector<std::int64_t> points, std::string how);

    std::int64_t sample_size() const { return std::ssize(points_); }

    // As SweepApp::sweep_points(), with the numbers of the job's sweep.
    virtual void sweep_sample(PointStream& stream) const = 0;

  private:
    void sweep_points(PointStream& stream) const override;

    std::vector<std::int64_t> points_;
    std::string how_;
};

}  // namespace voltpile
