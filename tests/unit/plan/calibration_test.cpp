#include "plan/calibration.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "plan/cluster_file.h"
#include "plan/plan.h"

namespace voltpile {

class CalibrationFile : public testing::Test {
  protected:
    CalibrationFile() { std::filesystem::create_directories(folder); }
    ~CalibrationFile() override { std::filesystem::remove_all(folder); }

    Calibration calibration() const {
        return {machine,
                "2026-11-23 07:08",
                "0.2.0",
                "580.65",
                {{"threebody euler fp64", "Tesla V100-SXM2-16GB", 2.9e10}, {"llm weights", "", 9e9}}};
    }
    void write(const std::string& text) const {
        std::ofstream(folder / calibration_name(machine), std::ios::binary) << text;
    }
    // Returns why the file with this text is not used.
    std::string problem(const std::string& text) const {
        write(text);
        const KnownRates known = load_rates(folder, machine, "0.2.0");
        EXPECT_TRUE(known.rates.empty() && known.origin.empty());
        return known.problem;
    }

    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("voltpile-calibration-" + std::to_string(getpid()));
    MachineIdentity machine{"node 7", "Xeon \"Gold\"\t\x01\x7f"};
};

TEST_F(CalibrationFile, IsReadAsItWasWritten) {
    write(to_toml(calibration()));
    const KnownRates known = load_rates(folder, machine, "0.2.0");
    EXPECT_EQ(known.rates, calibration().rates);
    EXPECT_EQ(known.origin, "2026-11-23 07:08 by voltpile 0.2.0, driver 580.65");
    EXPECT_EQ(known.problem, "");
}

TEST_F(CalibrationFile, IsNamedByHostAndProcessor) {
    const std::string name = calibration_name(machine);
    EXPECT_TRUE(name.starts_with("calibration-node_7-")) << name;
    EXPECT_TRUE(name.ends_with(".toml")) << name;
    EXPECT_NE(calibration_name({"node 7", "another processor"}), name);
    EXPECT_NE(calibration_name({"node 8", machine.cpu}), name);
}

TEST_F(CalibrationFile, ThatDoesNotExistIsNoProblem) {
    for (const auto& place : {folder, std::filesystem::path()}) {
        const KnownRates known = load_rates(place, machine, "0.2.0");
        EXPECT_EQ(known.origin + known.problem, "");
    }
}

TEST_F(CalibrationFile, OfAnotherMachineOrVersionIsNotUsed) {
    const std::string path = (folder / calibration_name(machine)).string();
    Calibration other = calibration();
    other.machine.cpu = "another processor";  // as if the file had been copied
    EXPECT_EQ(problem(to_toml(other)), path +
                                           " is the calibration of another machine: plans do not use it; "
                                           "`voltpile calibrate` measures anew");
    other = calibration();
    other.version = "0.1.0";
    EXPECT_TRUE(problem(to_toml(other)).starts_with(path + " was measured by voltpile 0.1.0, not 0.2.0: "));
}

TEST_F(CalibrationFile, ThatIsBrokenIsNamedAndNotUsed) {
    const std::string path = (folder / calibration_name(machine)).string();
    const std::string good = to_toml(calibration());
    const auto with = [&](const std::string& part, const std::string& by) {
        std::string text = good;
        return problem(text.replace(text.find(part), part.size(), by));
    };
    EXPECT_TRUE(problem("date = ").starts_with(path + ":1:")) << problem("date = ");
    EXPECT_NE(problem("").find("date is missing"), std::string::npos) << problem("");
    EXPECT_NE(with("per_s = 9e+09", "per_s = -1").find("per_s = -1: must be finite and greater than 0"),
              std::string::npos);
    EXPECT_NE(with("driver", "drivers").find("unknown key drivers; did you mean driver?"), std::string::npos)
        << with("driver", "drivers");
    EXPECT_NE(problem(good + std::string(1 << 20, '#')).find("larger than 1 MiB"), std::string::npos);
}

// 1e6 points of 50,000 steps at 4 x 2.5e10 pair-steps per second take 0.5 s.
TEST(CalibratedPlan, UsesTheMeasuredRatesOfItsWork) {
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/t180.toml", 0);
    Workload work;
    work.unit = "pair-steps";
    work.units_per_point = 50'000;
    work.flop_per_unit = 133;
    work.points = 1'000'000;
    work.bytes_per_point = 4;
    work.measured_as = "threebody euler fp64";
    const double estimated = make_plan(work, {}, topology).seconds;
    Host& host = topology.hosts.front();
    host.calibrated = "2026-11-23 07:08 by voltpile 0.2.0";
    host.measured = {{work.measured_as, host.gpus.front().name, 2.5e10}, {work.measured_as, "", 1e8}};
    const Plan plan = make_plan(work, {}, topology);
    EXPECT_DOUBLE_EQ(plan.seconds, 0.5);
    EXPECT_NE(to_text(plan).find("calibrated on 2026-11-23 07:08 by voltpile 0.2.0\n"), std::string::npos);
    EXPECT_NE(plan.formulas.front().find("2.5e+10 pair-steps/s as calibrated on 2026-11-23"),
              std::string::npos)
        << plan.formulas.front();
    PlanOptions on_cores;
    on_cores.device = DeviceChoice::Cpu;
    const Plan cores = make_plan(work, on_cores, topology);
    EXPECT_DOUBLE_EQ(cores.seconds, 5e10 / (1e8 * static_cast<double>(host.cores.size())));
    host.calibrated.clear();
    host.calibration_problem = "the file is broken";
    EXPECT_EQ(make_plan(work, {}, topology).warnings.back(), "the file is broken");
    work.measured_as = "threebody rk4 fp64";  // not measured
    EXPECT_DOUBLE_EQ(make_plan(work, {}, topology).seconds, estimated);
}

}  // namespace voltpile
