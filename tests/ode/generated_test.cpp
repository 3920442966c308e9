// The code that is generated for GPUs, compiled by the host's compiler, has the bits of the interpreter;
// NVRTC compiles it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "device/kernel_cache.h"
#include "ode/kernel_source.h"
#include "ode/point_source.h"
#include "ode/varied_jobs.h"

namespace voltpile::ode::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDriver = R"(
extern "C" void compute_point(std::int64_t point, voltpile::ode::Outcome* outcome) {
    voltpile::ode::PointMotion<voltpile::ode::Equations> motion;
    motion.begin(point);
    while (!motion.decided()) motion.step();
    motion.finish(*outcome);
}
)";

// The generated code of a job as a library of the host, in a folder of its own.
class HostCode {
  public:
    explicit HostCode(const Problem& problem) {
        char name[] = "/tmp/voltpile_ode_XXXXXX";
        folder_ = ::mkdtemp(name);
        std::ofstream(folder_ / "code.cpp") << "#include \"ode/point_motion.h\"\nnamespace voltpile::ode "
                                               "{\ninline namespace VOLTPILE_TARGET {\n"
                                            << point_source(problem) << "}\n}\n"
                                            << kDriver;
        const std::string file = (folder_ / "code").string();
        const std::string command = VOLTPILE_CXX
                                    " -std=c++20 -O1 -ffp-contract=off -fPIC -shared "
                                    "-I" VOLTPILE_SOURCE_DIR "/src -I" VOLTPILE_SOURCE_DIR "/apps -o " +
                                    file + ".so " + file + ".cpp";
        if (std::system(command.c_str()) != 0) return;
        library_ = ::dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library_)
            compute_ = reinterpret_cast<void (*)(std::int64_t, Outcome*)>(::dlsym(library_, "compute_point"));
    }
    ~HostCode() {
        if (library_) ::dlclose(library_);
        fs::remove_all(folder_);
    }
    HostCode(const HostCode&) = delete;
    HostCode& operator=(const HostCode&) = delete;

    bool compiled() const { return compute_ != nullptr; }
    Outcome at(std::int64_t point) const {
        Outcome outcome;
        compute_(point, &outcome);
        return outcome;
    }

  private:
    fs::path folder_;
    void* library_ = nullptr;
    void (*compute_)(std::int64_t, Outcome*) = nullptr;
};

void expect_bits_of_the_interpreter(const JobSpec& job) {
    const JobProblem problem(job);
    const HostCode code(problem.problem());
    ASSERT_TRUE(code.compiled());
    AllPoints points(job.point_count());
    sweep_on_this_thread(usable_cpu_levels().front(), problem.problem(), points);
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < job.point_count(); ++i) {
        const Outcome outcome = code.at(i);
        different +=
            std::memcmp(&outcome, &points.outcomes[static_cast<std::size_t>(i)], sizeof outcome) != 0;
    }
    EXPECT_EQ(different, 0) << "of " << job.point_count();
}

class OdeGenerated : public ::testing::Test {
  protected:
    void SetUp() override {
        if (std::system("command -v " VOLTPILE_CXX " > /dev/null") != 0)
            GTEST_SKIP() << "no compiler " VOLTPILE_CXX " on this machine";
        if (!has_fma(usable_cpu_levels().front())) GTEST_SKIP() << "this processor fuses no multiply-adds";
    }
};

TEST_F(OdeGenerated, HasTheBitsOfTheInterpreter) {
    for (const VariedJob& job : varied_jobs()) {
        SCOPED_TRACE(job.name);
        expect_bits_of_the_interpreter(job_of(job.text));
    }
}

TEST_F(OdeGenerated, HasTheBitsOfTheInterpreterOnShippedJobs) {
    for (const std::string& name : kShippedJobs) {
        SCOPED_TRACE(name);
        expect_bits_of_the_interpreter(shipped_job(name, 7));
    }
}

// Skips tests where NVRTC is not installed.
class OdeNvrtc : public ::testing::Test {
  protected:
    void SetUp() override {
        try {
            compiler_.emplace();
        } catch (const MachineError& error) {
            GTEST_SKIP() << error.what();
        }
    }

    std::optional<Nvrtc> compiler_;
};

TEST_F(OdeNvrtc, CompilesEveryKindOfJob) {
    std::vector<int> capabilities;
    for (const int capability : {70, 80})
        if (capability >= compiler_->capabilities().front()) capabilities.push_back(capability);
    for (const VariedJob& job : varied_jobs()) {
        SCOPED_TRACE(job.name);
        const JobProblem problem(job_of(job.text));
        for (const int capability : capabilities) {
            const CompiledKernel kernel = compiler_->compile(
                kernel_source(problem.problem(), kernel_shape(problem.problem())), capability);
            EXPECT_NE(kernel.name.find("sweep_kernel"), std::string::npos);
            EXPECT_GT(kernel.image.size(), 1000u);
        }
    }
}

TEST_F(OdeNvrtc, CompilesShippedJobs) {
    for (const std::string& name : kShippedJobs) {
        SCOPED_TRACE(name);
        const JobProblem problem(shipped_job(name, 7));
        EXPECT_GT(compiler_->compile(kernel_source(problem.problem(), kernel_shape(problem.problem())), 80)
                      .image.size(),
                  1000u);
    }
}

}  // namespace
}  // namespace voltpile::ode::testing
