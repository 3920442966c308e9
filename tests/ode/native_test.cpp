// Machine code for the step has the bits of the interpreter.
#include <gtest/gtest.h>

#include <cstring>

#include "ode/varied_jobs.h"

namespace voltpile::ode::testing {
namespace {

class OdeNative : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const CpuLevel level : usable_cpu_levels())
            if (has_machine_code(level)) levels_.push_back(level);
        if (levels_.empty()) GTEST_SKIP() << "this processor has no AVX2";
    }

    void expect_bits_of_the_interpreter(const JobSpec& job) {
        const JobProblem problem(job);
        for (const CpuLevel level : levels_) {
            AllPoints interpreted(job.point_count()), native(job.point_count());
            sweep_on_this_thread(level, problem.problem(), interpreted, StepKind::Interpreted);
            sweep_on_this_thread(level, problem.problem(), native);
            std::int64_t different = 0;
            for (std::size_t i = 0; i < native.outcomes.size(); ++i)
                different += std::memcmp(&interpreted.outcomes[i], &native.outcomes[i], sizeof(Outcome)) != 0;
            EXPECT_EQ(different, 0) << name(level) << " of " << job.point_count();
        }
    }

    std::vector<CpuLevel> levels_;
};

TEST_F(OdeNative, HasTheBitsOfTheInterpreter) {
    for (const VariedJob& job : varied_jobs()) {
        SCOPED_TRACE(job.name);
        expect_bits_of_the_interpreter(job_of(job.text));
    }
}

TEST_F(OdeNative, HasTheBitsOfTheInterpreterOnShippedJobs) {
    for (const std::string& name : kShippedJobs) {
        SCOPED_TRACE(name);
        expect_bits_of_the_interpreter(shipped_job(name, 11));
    }
}

// More states than SIMD registers, so that values go to memory and return.
TEST_F(OdeNative, HasTheBitsOfTheInterpreterOnManyStates) {
    std::string chain = "[parameters]\nk = 1\n[initial]\n", equations = "[equations]\n";
    for (int i = 0; i < 30; ++i) {
        const std::string n = std::to_string(i), before = "x" + std::to_string((i + 29) % 30),
                          after = "x" + std::to_string((i + 1) % 30);
        chain += "x" + n + " = " + (i == 5 ? "1" : "0.1") + "\nv" + n + " = 0\n";
        equations += "dx" + n + " = \"v" + n + "\"\ndv" + n + " = \"k*(" + before + " - 2*x" + n + " + " +
                     after + ") - x" + n + "^3 + (" + after + " < 0.2) - max(x" + n + ", 0.3*" + before +
                     ")*where(" + before + " > 0.05, 0.1, x" + n + ")\"\n";
    }
    const std::string sweep = "[[sweep]]\nparameter = \"k\"\nfrom = 0\nto = 2\ncount = 83\n";
    for (const char* method :
         {"method = \"rk4\"\ndt = 0.05\nt_end = 1\n", "method = \"dopri5\"\nt_end = 1\n"})
        expect_bits_of_the_interpreter(job_of(chain + equations + "[integrate]\n" + method + sweep));
}

}  // namespace
}  // namespace voltpile::ode::testing
