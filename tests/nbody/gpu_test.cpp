// The GPU kernels against the CPU's, with every method, number of bodies, potential and ending.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "device/device.h"
#include "nbody/parameter_table.h"
#include "nbody/references.h"
#include "nbody/run_job.h"
#include "nbody/start_table.h"
#if VOLTPILE_CUDA
#include "nbody/gpu_program.h"
#include "sweep/gpu_sweep.h"
#endif

namespace voltpile::nbody::testing {
namespace {

class GpuNbody : public ::testing::Test {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    }
};

// A job with all that its problem points to.
class NbodyJob {
  public:
    explicit NbodyJob(const std::string& text, StartTable starts = {})
        : job(job_of(text)),
          problem(problem_from_job(job)),
          frames(set_frames(job, problem)),
          table(std::move(starts)),
          fields(fields_from_job(job)),
          points(table.numbers.empty() ? job.point_count() : table.rows()) {
        if (!table.numbers.empty()) set_table(table, problem);
    }
    NbodyJob(const NbodyJob&) = delete;
    NbodyJob& operator=(const NbodyJob&) = delete;

    JobSpec job;
    Problem problem;
    std::vector<double> frames;
    StartTable table;
    std::vector<OutcomeField> fields;
    std::int64_t points;
};

// Members of outcomes that are no fields stay zero.
std::vector<Outcome> on_cpu(const NbodyJob& job) {
    AllPoints points(job.points);
    cpu_sweep(usable_cpu_levels().back())(job.problem, points);
    std::vector<Outcome> outcomes(points.outcomes.size());
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        for (const OutcomeField& field : job.fields)
            std::memcpy(reinterpret_cast<std::byte*>(&outcomes[i]) + field.offset,
                        reinterpret_cast<const std::byte*>(&points.outcomes[i]) + field.offset,
                        field.spec.bytes_per_point());
    return outcomes;
}

// The same on the GPU. rest: the share of the time in which it rests.
std::vector<Outcome> on_gpu(const NbodyJob& job, std::int64_t range_points = 1000, double rest = 0) {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(job.points));
#if VOLTPILE_CUDA
    WorkScheduler work;
    for (std::int64_t i = 0; i < job.points; i += range_points)
        work.offer({i, std::min(job.points, i + range_points)});
    work.close();
    GpuDuty duty(std::chrono::milliseconds(1), 1, 2);
    duty.set_rest(rest);
    GpuSweep sweep([&] { return make_gpu_program(job.problem, job.frames, job.table.values); }, job.fields, 0,
                   100, rest > 0 ? &duty : nullptr);
    sweep.run(work, [&](WorkRange range, std::vector<FieldBuffer> data) {
        for (std::int64_t i = range.begin; i < range.end; ++i) {
            for (std::size_t f = 0; f < data.size(); ++f) {
                const std::size_t size = data[f].size() / static_cast<std::size_t>(range.size());
                std::memcpy(reinterpret_cast<std::byte*>(&outcomes[static_cast<std::size_t>(i)]) +
                                job.fields[f].offset,
                            data[f].data() + static_cast<std::size_t>(i - range.begin) * size, size);
            }
        }
    });
    double steps = 0;
    for (const Outcome& outcome : outcomes) steps += outcome.step_count;
    EXPECT_EQ(work.progress().units, steps);
    EXPECT_GT(work.progress().busy_s, 0);
#else
    static_cast<void>(range_points), static_cast<void>(rest);
#endif
    return outcomes;
}

// bodies 1, 2, ... on a circle, which turns about once in the time 6; none comes near another in that time.
std::vector<Body> circle(int bodies) {
    std::vector<Body> all;
    for (int i = 0; i < bodies; ++i) {
        const double at = 2 * std::numbers::pi * i / bodies, c = std::cos(at), s = std::sin(at);
        all.push_back({(1 + 0.1 * i) / bodies, {c, s, 0.05 * i - 0.1}, {-0.8 * s, 0.8 * c, 0.03 * i}});
    }
    return all;
}

const std::string kAroundCircle =
    "[[sweep]]\nparameter = \"position[0].x\"\nfrom = 0.95\nto = 1.05\ncount = 11\n"
    "[[sweep]]\nparameter = \"mass[1]\"\nfrom = 0\nto = 0.2\ncount = 7\nendpoint = true\n";

struct Difference {
    double state = 0, closest = 0, time = 0, energy = 0;
    int steps = 0, other = 0;  // other: status, pair, escaper
};

// The largest differences over all points.
Difference difference_of(const NbodyJob& job, const std::vector<Outcome>& a, const std::vector<Outcome>& b) {
    Difference most;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (int c = 0; c < 6 * job.problem.bodies; ++c)
            most.state = std::max(most.state, std::abs(a[i].final_state[c] - b[i].final_state[c]));
        most.closest = std::max(most.closest, std::abs(a[i].closest_approach - b[i].closest_approach));
        most.time = std::max({most.time, std::abs(a[i].closest_time - b[i].closest_time),
                              std::abs(a[i].final_time - b[i].final_time)});
        most.energy = std::max({most.energy, std::abs(a[i].energy_error - b[i].energy_error),
                                std::abs(a[i].angular_momentum_error - b[i].angular_momentum_error)});
        most.steps = std::max(most.steps, std::abs(a[i].step_count - b[i].step_count));
        most.other += a[i].status != b[i].status || a[i].closest_pair != b[i].closest_pair ||
                      a[i].escaper != b[i].escaper;
    }
    return most;
}

// Roundings differ: the seeds of inverse roots, and the order of sums. These starts multiply them by less
// than a thousand.
struct Tolerance {
    double state = 1e-10, closest = 1e-10, time = 1e-6;
    int steps = 0;
};
// Estimated errors are differences, of which rounding changes the fifth digit, and with it the length of
// steps. So encounters within a step are interpolated between other ends, the time of a minimum is uncertain
// by the root of that, and an end by collision or escape comes that much earlier or later.
constexpr Tolerance kOfAdaptive = {.closest = 1e-6, .time = 1e-2, .steps = 5};
constexpr Tolerance kOfAdaptiveEnds = {.state = 1e-4, .closest = 1e-6, .time = 1e-2, .steps = 5};

void expect_agreement(const NbodyJob& job, const Tolerance& tolerance = {}) {
    const Difference most = difference_of(job, on_cpu(job), on_gpu(job, 13));
    EXPECT_LT(most.state, tolerance.state);
    EXPECT_LT(most.closest, tolerance.closest);
    EXPECT_LT(most.time, tolerance.time);
    EXPECT_LT(most.energy, 1e-11);
    EXPECT_LE(most.steps, tolerance.steps);
    EXPECT_EQ(most.other, 0);
}

const std::vector<std::string> kGpuFixed = {"euler", "leapfrog", "yoshida4", "srkn6", "rk4"};
const std::vector<std::string> kGpuAdaptive = {"rkn8", "gbs10"};
const std::string kPlainFields =
    "[output]\nfields = [\"final_state\", \"energy_error\", \"step_count\", \"status\"]\n";

TEST_F(GpuNbody, AgreesWithTheCpuOnAnyNumberOfBodies) {
    for (int bodies = 2; bodies <= 8; ++bodies) {
        const std::string system = system_of(circle(bodies));
        for (const std::string& fields : {every_field(), kPlainFields}) {
            for (const std::string& method : kGpuFixed) {
                SCOPED_TRACE(method + fmt::format(" {} bodies ", bodies) + fields);
                const NbodyJob job(system + kAroundCircle + fixed_steps(method, 1.5, 321) + fields);
                expect_agreement(job);
            }
            for (const std::string& method : kGpuAdaptive) {
                SCOPED_TRACE(method + fmt::format(" {} bodies ", bodies) + fields);
                const NbodyJob job(system + kAroundCircle + adaptive(method, 1.5, 1e-12) + fields);
                expect_agreement(job, kOfAdaptive);
            }
        }
    }
}

TEST_F(GpuNbody, AgreesWithTheCpuInEveryPotential) {
    for (const char* const keys :
         {"kind = \"point\"\ncentral_mass = 0.7\n", "kind = \"plummer\"\ncentral_mass = 0.7\nscale = 0.3\n",
          "kind = \"harmonic\"\nfrequency = 0.8\n", "kind = \"logarithmic\"\nspeed = 0.6\nscale = 0.3\n"}) {
        for (const int bodies : {2, 3, 5, 8}) {
            const std::string system = system_of(circle(bodies), 0.9) + "softening = 0.07\n" +
                                       "[potential]\n" + keys + kAroundCircle + every_field();
            SCOPED_TRACE(fmt::format("{} bodies {}", bodies, keys));
            expect_agreement(NbodyJob(system + fixed_steps("yoshida4", 1.5, 300)));
            expect_agreement(NbodyJob(system + fixed_steps("rk4", 1.5, 300)));
            expect_agreement(NbodyJob(system + adaptive("rkn8", 1.5, 1e-12)), kOfAdaptive);
            expect_agreement(NbodyJob(system + adaptive("gbs10", 1.5, 1e-12)), kOfAdaptive);
        }
    }
}

// As NbodyOrbits does on the CPU.
TEST_F(GpuNbody, EndsRandomStartsWhereScipyTakesThem) {
    for (const Reference& of : references()) {
        const std::string job = system_of(of.start, kReferenceG) +
                                fmt::format("softening = {}\n", kReferenceSoftening) + of.potential;
        for (const std::string& integrate :
             {adaptive("rkn8", kReferenceTime, 1e-13), adaptive("gbs10", kReferenceTime, 1e-13),
              fixed_steps("srkn6", kReferenceTime, 6000)}) {
            const Outcome outcome = on_gpu(NbodyJob(job + integrate + every_field())).at(0);
            for (std::size_t i = 0; i < of.end.size(); ++i)
                for (int c = 0; c < 3; ++c)
                    EXPECT_NEAR(position_of(outcome, static_cast<int>(i))[c], of.end[i].x[c], 1e-9)
                        << of.end.size() << " bodies, " << integrate;
        }
    }
}

// Bodies fall together, fly apart or meet; each point in its own way.
TEST_F(GpuNbody, EndsPointsAsTheCpuDoes) {
    const std::string pair = system_of({{1, {-3, 0, 0}, {1, 0, 0}}, {1, {3, 0.5, 0}, {-1, 0, 0}}}, 0) +
                             "[[sweep]]\nparameter = \"position[1].y\"\nfrom = -2\nto = 2\ncount = 41\n"
                             "[stop]\ncollision = 1\n" +
                             every_field();
    const std::string light = system_of({{0.5, {-0.25, 0, 0}, {0, -0.5 * std::sqrt(2.0), 0}},
                                         {0.5, {0.25, 0, 0}, {0, 0.5 * std::sqrt(2.0), 0}},
                                         {1e-6, {5, 0, 0}, {0.7, 0, 0}}}) +
                              "[[sweep]]\nparameter = \"velocity[2].x\"\nfrom = 0.5\nto = 0.9\ncount = 41\n"
                              "[stop]\nescape_distance = 12\n"
                              "[output]\nfields = [\"status\", \"final_time\", \"final_state\", "
                              "\"energy_error\", \"step_count\", \"escaper\"]\n";
    for (const std::string& system : {pair, light}) {
        int statuses = 0;
        for (const std::string& integrate :
             {adaptive("rkn8", 20, 1e-11), adaptive("gbs10", 20, 1e-11), fixed_steps("yoshida4", 20, 20000),
              fixed_steps("rk4", 20, 20000)}) {
            SCOPED_TRACE(integrate);
            const NbodyJob job(system + integrate);
            expect_agreement(
                job, integrate.find("tolerance") == std::string::npos ? Tolerance() : kOfAdaptiveEnds);
            for (const Outcome& outcome : on_gpu(job)) statuses |= 1 << outcome.status;
        }
        EXPECT_EQ(statuses & 1, 1);  // some reach the end
        EXPECT_NE(statuses, 1);      // others do not
    }
}

TEST_F(GpuNbody, FlagsNumbersThatAreNotFinite) {
    // At the point x = 0 of the sweep both bodies start at the same place.
    const std::string start = system_of({{1, {0, 0, 0}, {}}, {1, {0, 0, 0}, {}}}) +
                              "[[sweep]]\nparameter = \"position[1].x\"\nfrom = 0\nto = 2\ncount = 2\n" +
                              every_field();
    for (const std::string& integrate : {adaptive("gbs10", 0.1, 1e-9), fixed_steps("rk4", 0.1, 10)}) {
        const std::vector<Outcome> at = on_gpu(NbodyJob(start + integrate));
        EXPECT_EQ(at[0].status, status(Status::NotFinite));
        EXPECT_EQ(at[0].final_time, 0);
        EXPECT_EQ(at[0].closest_approach, 0);
        for (int c = 0; c < 12; ++c) EXPECT_EQ(at[0].final_state[c], 0);
        EXPECT_EQ(at[1].status, status(Status::End));
    }
    const Outcome blown = on_gpu(NbodyJob(system_of({{1, {1e100, 0, 0}, {1e300, 0, 0}}, {1, {0, 0, 0}, {}}}) +
                                          fixed_steps("leapfrog", 1e11, 1000) + every_field()))
                              .at(0);
    EXPECT_EQ(blown.status, status(Status::NotFinite));
    for (int c = 0; c < 12; ++c) EXPECT_TRUE(std::isfinite(blown.final_state[c])) << c;
}

// Two bodies at rest at distance 2 meet after pi/2 sqrt(d^3 / (2 G M)).
TEST_F(GpuNbody, FlagsBodiesThatFallIntoEachOther) {
    const std::string fall = system_of({{1, {-1, 0, 0}, {}}, {1, {1, 0, 0}, {}}}) + every_field();
    for (const std::string& method : kGpuAdaptive) {
        const Outcome outcome = on_gpu(NbodyJob(fall + adaptive(method, 10, 1e-10))).at(0);
        EXPECT_TRUE(outcome.status == status(Status::StepTooSmall) ||
                    outcome.status == status(Status::MaxSteps));
        EXPECT_NEAR(outcome.final_time, 0.5 * std::numbers::pi * std::sqrt(8.0 / 4.0), 1e-6);
        for (int c = 0; c < 12; ++c) EXPECT_TRUE(std::isfinite(outcome.final_state[c]));
        const Outcome spent = on_gpu(NbodyJob(fall + adaptive(method, 10, 1e-10) + "max_steps = 7\n")).at(0);
        EXPECT_EQ(spent.status, status(Status::MaxSteps));
        EXPECT_EQ(spent.step_count, 7);
    }
}

TEST_F(GpuNbody, ReadsStartsFromATable) {
    StartTable table;
    table.numbers = {number_of("system.position", 3), number_of("system.velocity", 7),
                     number_of("system.mass", 2), number_of("integrate.dt", 0)};
    for (int row = 0; row < 1001; ++row)
        table.values.insert(table.values.end(),
                            {-1 + 1e-4 * row, 0.8 - 1e-4 * row, 0.3 + 1e-4 * row, 0.004 + 1e-6 * row});
    for (const std::string& integrate : {adaptive("rkn8", 1.5, 1e-12), fixed_steps("leapfrog", 1.5, 300)}) {
        const NbodyJob job(system_of(circle(3)) + "softening = 0.3\n" + integrate + every_field(), table);
        ASSERT_EQ(job.points, 1001);
        expect_agreement(job, kOfAdaptive);
        EXPECT_EQ(on_gpu(job).back().final_time, (0.004 + 1e-6 * 1000) * number_at(job.problem, kSteps, 0));
    }
}

TEST_F(GpuNbody, ComputesTheFramesOfAMovie) {
    const NbodyJob job(system_of(circle(4)) + kAroundCircle +
                       "[frames]\ncount = 5\n[[frames.change]]\nparameters = [\"softening\"]\nto = ["
                       "0.5]\n" +
                       adaptive("rkn8", 1.5, 1e-12) + every_field());
    ASSERT_EQ(job.points, 5 * 77);
    expect_agreement(job, kOfAdaptive);
}

// More points than lanes, of lengths that differ a hundredfold, in ranges of odd sizes: lanes take new
// points, and warps are packed at the end. A point's bits do not depend on its neighbors.
TEST_F(GpuNbody, RefillsAndPacksLanes) {
    for (const int bodies : {2, 3, 5, 7, 8}) {
        for (const std::string& integrate :
             {adaptive("rkn8", 1, 1e-10), adaptive("gbs10", 1, 1e-10), fixed_steps("leapfrog", 1, 100)}) {
            SCOPED_TRACE(fmt::format("{} bodies {}", bodies, integrate));
            const NbodyJob job(
                system_of(circle(bodies)) + integrate +
                "[[sweep]]\nparameter = \"steps\"\nfrom = 20\nto = 2000\ncount = 100\nendpoint = true\n"
                "[[sweep]]\nparameter = \"softening\"\nfrom = 0.05\nto = 0.6\ncount = 301\n" +
                every_field());
            const std::vector<Outcome> together = on_gpu(job, 30100), apart = on_gpu(job, 997, 0.3);
            ASSERT_EQ(together.size(), 30100U);
            EXPECT_EQ(std::memcmp(together.data(), apart.data(), together.size() * sizeof(Outcome)), 0);
            for (std::size_t i = 0; i < together.size(); i += 1) {
                if (together[i].status == status(Status::End)) continue;
                ADD_FAILURE() << "point " << i << " ended with status " << together[i].status;
                break;
            }
        }
    }
}

}  // namespace
}  // namespace voltpile::nbody::testing
