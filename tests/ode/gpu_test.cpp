// Equations compiled for the GPU have the bits of the interpreter in every field.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>

#include "device/device.h"
#include "ode/varied_jobs.h"
#include "sweep/cpu_sweep.h"
#include "work/work_scheduler.h"
#if VOLTPILE_CUDA
#include "ode/gpu_program.h"
#include "sweep/gpu_sweep.h"
#endif

namespace voltpile::ode::testing {
namespace {

using Sweep = std::function<void(WorkScheduler&, const SubmitRange&)>;

// Returns the values of all fields at all points, one field after another.
std::vector<FieldBuffer> field_values(const std::vector<OutcomeField>& fields, std::int64_t points,
                                      const Sweep& sweep, std::int64_t range_points) {
    std::vector<FieldBuffer> values;
    for (const OutcomeField& field : fields)
        values.emplace_back(static_cast<std::size_t>(points) * field.spec.bytes_per_point());
    WorkScheduler work;
    for (std::int64_t i = 0; i < points; i += range_points)
        work.offer({i, std::min(points, i + range_points)});
    work.close();
    std::mutex mutex;
    sweep(work, [&](WorkRange range, std::vector<FieldBuffer> data) {
        const std::lock_guard lock(mutex);
        for (std::size_t f = 0; f < data.size(); ++f) {
            const std::size_t bytes = fields[f].spec.bytes_per_point();
            std::memcpy(values[f].data() + static_cast<std::size_t>(range.begin) * bytes, data[f].data(),
                        data[f].size());
        }
    });
    return values;
}

void expect_bits_of_the_cpu(const JobSpec& job) {
    const JobProblem problem(job);
    const std::vector<OutcomeField> fields = fields_of(problem);
    const std::int64_t points = job.point_count();
    const auto on_core = field_values(
        fields, points,
        [&](WorkScheduler& work, const SubmitRange& submit) {
            const CpuLevel level = usable_cpu_levels().front();
            sweep_on_cpu([&](PointStream& stream) { sweep_on_this_thread(level, problem.problem(), stream); },
                         fields, {0}, work, submit);
        },
        2000);
#if VOLTPILE_CUDA
    const auto on_gpu = field_values(
        fields, points,
        [&](WorkScheduler& work, const SubmitRange& submit) {
            GpuSweep sweep([&] { return make_gpu_program(problem.problem()); }, fields, 0, 100, nullptr);
            sweep.run(work, submit);
        },
        4321);
    for (std::size_t f = 0; f < on_core.size(); ++f) {
        std::int64_t different = 0;
        const std::size_t bytes = fields[f].spec.bytes_per_point();
        for (std::int64_t i = 0; i < points; ++i) {
            const std::size_t at = static_cast<std::size_t>(i) * bytes;
            different += std::memcmp(on_core[f].data() + at, on_gpu[f].data() + at, bytes) != 0;
        }
        EXPECT_EQ(different, 0) << fields[f].spec.name << " of " << points << " points";
    }
#endif
}

class GpuOde : public ::testing::Test {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    }
};

TEST_F(GpuOde, HasTheBitsOfTheCpu) {
    for (const VariedJob& job : varied_jobs()) {
        SCOPED_TRACE(job.name);
        expect_bits_of_the_cpu(job_of(job.text));
    }
}

TEST_F(GpuOde, HasTheBitsOfTheCpuOnShippedJobs) {
    for (const std::string& name : kShippedJobs) {
        SCOPED_TRACE(name);
        expect_bits_of_the_cpu(shipped_job(name, 61));
    }
}

// So many that lanes take one point after another, and that registers do not suffice for the states.
TEST_F(GpuOde, HasTheBitsOfTheCpuOnManyPointsAndStates) {
    std::string chain = "[parameters]\nk = 1\n[initial]\n", equations = "[equations]\n";
    for (int i = 0; i < 24; ++i) {
        const std::string n = std::to_string(i), before = i == 0 ? "0" : "x" + std::to_string(i - 1),
                          after = i == 23 ? "0" : "x" + std::to_string(i + 1);
        chain += "x" + n + " = " + (i == 5 ? "1" : "0") + "\nv" + n + " = 0\n";
        equations += "dx" + n + " = \"v" + n + "\"\ndv" + n + " = \"k*(" + before + " - 2*x" + n + " + " +
                     after + ") - x" + n + "^3\"\n";
    }
    const std::string sweep =
        "[[sweep]]\nparameter = \"initial.x5\"\nfrom = 0\nto = 2\ncount = 151\n"
        "[[sweep]]\nparameter = \"k\"\nfrom = 0\nto = 2\ncount = 83\n";
    for (const char* method :
         {"method = \"rk4\"\ndt = 0.05\nt_end = 1\n", "method = \"dopri5\"\nt_end = 1\n"})
        expect_bits_of_the_cpu(job_of(chain + equations + "[integrate]\n" + method + sweep));
    expect_bits_of_the_cpu(
        job_of(kLorenzEquations + "[integrate]\nmethod = \"dopri5\"\nt_end = 3\n" + kSweepRho +
               "[[sweep]]\nparameter = \"initial.x\"\nfrom = -3\nto = 3\ncount = 20000\n"));
}

#if VOLTPILE_CUDA
TEST_F(GpuOde, SaysHowToDoWithoutTheCompiler) {
    const JobProblem problem(
        job_of(kLorenzEquations + "[integrate]\nmethod = \"rk4\"\ndt = 0.1\nt_end = 1\n"));
    ::setenv("VOLTPILE_NVRTC", "/nonexistent/libnvrtc.so", 1);
    std::string message = "compiled";
    try {
        make_gpu_program(problem.problem());
    } catch (const MachineError& error) {
        message = error.what();
    }
    ::unsetenv("VOLTPILE_NVRTC");
    EXPECT_NE(message.find("/nonexistent/libnvrtc.so cannot be loaded: install"), std::string::npos)
        << message;
    EXPECT_NE(message.find("run.device = \"cpu\""), std::string::npos) << message;
}
#endif

}  // namespace
}  // namespace voltpile::ode::testing
