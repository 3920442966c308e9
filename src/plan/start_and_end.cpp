#include "plan/start_and_end.h"

#include <algorithm>
#include <string>

#include "plan/calibration.h"

namespace voltpile {
namespace {

// Of one rank on two cores of an AMD EPYC (docs/benchmarks.md): starting MPI, reading the machine and
// creating the part folder; the last commits, the result and the end of MPI.
constexpr double kStartSeconds = 0.5, kEndSeconds = 0.3;
constexpr double kCudaStartSeconds = 0.4;

struct Sides {
    double start_s, end_s;
};

Sides sides_of(const Plan& plan, const RankPlan& rank) {
    const Host& host = plan.host_of(rank);
    const bool gpu = rank.gpu >= 0;
    const std::string processor = gpu ? host.gpus[static_cast<std::size_t>(rank.gpu)].name : "";
    const double starts = host.measured_rate(kRunStarts, processor);
    const double ends = host.measured_rate(kRunEnds, processor);
    if (starts > 0 && ends > 0) return {1 / starts, 1 / ends};
    return {kStartSeconds + (gpu ? kCudaStartSeconds : 0), kEndSeconds};
}

}  // namespace

void estimate_start_and_end(Plan& plan) {
    for (const RankPlan& rank : plan.ranks) {
        const Sides sides = sides_of(plan, rank);
        plan.start_s = std::max(plan.start_s, sides.start_s);
        plan.end_s = std::max(plan.end_s, sides.end_s);
    }
}

}  // namespace voltpile
