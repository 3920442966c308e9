// How well the iterations of a map are known before it runs.
#include "rootmap/iteration_estimate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rootmap/cpu_targets.h"
#include "rootmap/keys.h"
#include "rootmap/methods.h"
#include "rootmap/outcome.h"
#include "rootmap/problem_from_job.h"

namespace voltpile::rootmap {
namespace {

// Adds up the iterations of all points.
class AllPoints : public PointStream {
  public:
    explicit AllPoints(std::int64_t points) : points_(points) {}

    bool draw(Ticket& ticket) override {
        if (next_ == points_) return false;
        ticket = {next_++, nullptr};
        return true;
    }
    void finish(const Ticket&, const void* outcome) override {
        iterations += static_cast<const Outcome*>(outcome)->iterations;
    }
    bool report(double) override { return true; }

    double iterations = 0;

  private:
    const std::int64_t points_;
    std::int64_t next_ = 0;
};

JobSpec job_of(const std::string& file, std::vector<std::string> changes) {
    const std::vector<AppSchema> schemas{rootmap_schema()};
    return load_job(VOLTPILE_SOURCE_DIR "/jobs/rootmap/" + file, changes, schemas);
}

// A sixth of the points takes nearly all iterations: 256 points miss the mean by a tenth.
TEST(IterationEstimate, KnowsTheMeanOfALongMap) {
    for (const std::vector<std::string>& view :
         {std::vector<std::string>{}, {"sweep.c_x.from=-1.5", "sweep.c_x.to=0.5"}, {"sweep.c_y.to=0.0"}}) {
        std::vector<std::string> changes = {"sweep.c_x.count=240", "sweep.c_y.count=240",
                                            "iterate.max_iterations=5000"};
        changes.insert(changes.end(), view.begin(), view.end());
        const JobSpec job = job_of("mandelbrot.toml", changes);
        const Problem problem = problem_from_job(job);
        AllPoints all(job.point_count());
        cpu_sweep(cpu_level())(problem, all);
        const double mean = all.iterations / static_cast<double>(job.point_count());
        const double estimate = workload_of(problem, {}, job.point_count()).units_per_point;
        EXPECT_NEAR(estimate, mean, 0.03 * mean) << view.size();
    }
}

TEST(IterationEstimate, CountsCyclesWhereInstructionsWait) {
    const Problem quintic = problem_from_job(job_of("newton_quintic.toml", {}));
    EXPECT_DOUBLE_EQ(core_cycles_of(quintic), 21 + 5 * 7.6);
    const Problem set = problem_from_job(job_of("mandelbrot.toml", {}));
    EXPECT_DOUBLE_EQ(workload_of(set, {}, 1000).core_cycles_per_unit, 7.8);
    const Problem precise =
        problem_from_job(job_of("mandelbrot.toml", {"iterate.precision=\"double-double\""}));
    EXPECT_EQ(core_cycles_of(precise), 0);
}

}  // namespace
}  // namespace voltpile::rootmap
