#include "health/figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "health/figure_json.h"
#include "health/measure_node.h"
#include "health/tensor_theory.h"

namespace voltpile {
namespace {

TEST(Figure, IsWrittenWithThreeDigits) {
    EXPECT_EQ(value_text(FigureKind::GpuRead, 830.4e9), "830 GB/s");
    EXPECT_EQ(value_text(FigureKind::GpuRead, 4812.7e9), "4813 GB/s");
    EXPECT_EQ(value_text(FigureKind::ToGpu, 12.345e9), "12.3 GB/s");
    EXPECT_EQ(value_text(FigureKind::Fp64, 7.834e12), "7.83 TFLOP/s");
}

TEST(Figure, SurvivesJson) {
    const Figure figure = figure_of(FigureKind::Tensor, "GPU 2 (0000:3a:00.0)", "V100", 1.1e14, 1.25e14);
    const Figure back = figure_from(figure_json(figure));
    EXPECT_EQ(back.kind, figure.kind);
    EXPECT_EQ(back.place, figure.place);
    EXPECT_TRUE(back.is_peer_of(figure));
    EXPECT_EQ(back.value, figure.value);
    EXPECT_EQ(back.least, figure.least);
}

TEST(Figure, GroupsPeersInItsTable) {
    const std::string table = figures_text({figure_of(FigureKind::Fp64, "GPU 0", "V100", 7.7e12, 7.8e12),
                                            figure_of(FigureKind::Fp64, "GPU 1", "V100", 7.5e12, 7.8e12),
                                            figure_of(FigureKind::HostRead, "NUMA node 0", "Xeon", 6e10, 0)});
    EXPECT_NE(table.find("7.5 TFLOP/s"), table.npos);
    EXPECT_NE(table.find("7.7 TFLOP/s"), table.npos);
    EXPECT_NE(table.find("unknown"), table.npos);
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3 - (table.back() == '\n' ? 0 : 1));
    EXPECT_EQ(figures_text({}), "");
}

// NVIDIA's figures: V100-SXM2 125 TFLOP/s, A100 312, H100-SXM 989 at 1.83 GHz; GeForce RTX 4090 165.
TEST(TensorTheory, AgreesWithTheDataSheets) {
    const auto theory = [](const char* name, int compute_capability, int multiprocessors, double clock_ghz) {
        Gpu gpu;
        gpu.name = name;
        gpu.compute_capability = compute_capability;
        gpu.multiprocessors = multiprocessors;
        gpu.clock_ghz = clock_ghz;
        return tensor_theory(gpu).flop_per_s / 1e12;
    };
    EXPECT_NEAR(theory("Tesla V100-SXM2-16GB", 70, 80, 1.53), 125, 1);
    EXPECT_NEAR(theory("NVIDIA A100-SXM4-80GB", 80, 108, 1.41), 312, 1);
    EXPECT_NEAR(theory("NVIDIA H100 80GB HBM3", 90, 132, 1.83), 989, 1);
    EXPECT_NEAR(theory("NVIDIA GeForce RTX 4090", 89, 128, 2.52), 165, 1);
    EXPECT_EQ(theory("Tesla P100-SXM2-16GB", 60, 56, 1.48), 0);
}

ProcessResult written(const std::string& out) {
    ProcessResult result;
    result.out = out;
    return result;
}

TEST(MeasuringProcess, ReportsFiguresFailuresAndWhatItSkipped) {
    const NodeFigures node = figures_of_process(
        written(begin_line("GPU 0: FP64") +
                figure_line(figure_of(FigureKind::Fp64, "GPU 0", "V100", 7.7e12, 7.8e12)) +
                failure_line("GPU 1: FP64 failed: illegal address") + skipped_line("GPU 2: in use")),
        kMeasuringDeadline);
    ASSERT_EQ(node.figures.size(), 1U);
    ASSERT_EQ(node.findings.size(), 1U);
    EXPECT_EQ(node.findings[0].text, "GPU 1: FP64 failed: illegal address");
    EXPECT_EQ(node.findings[0].health, Health::Bad);
    EXPECT_EQ(node.not_measured, std::vector<std::string>{"GPU 2: in use"});
}

TEST(MeasuringProcess, NamesWhatHung) {
    ProcessResult result = written(begin_line("GPU 0: FP64") + begin_line("GPU 1: its memory") +
                                   R"({"figure": "gpu_read", "pla)");  // cut off
    result.timed_out = true;
    const NodeFigures node = figures_of_process(result, std::chrono::milliseconds(1500));
    ASSERT_EQ(node.findings.size(), 1U);
    EXPECT_EQ(node.findings[0].text, "GPU 1: its memory: not measured within 1.5 s");
    EXPECT_TRUE(node.figures.empty());
}

TEST(MeasuringProcess, DoesNotBlameABusyHost) {
    ProcessResult result = written(begin_line(std::string(kHostPlace) + "0 (2 cores): its memory"));
    result.timed_out = true;
    const NodeFigures node = figures_of_process(result, std::chrono::seconds(50));
    EXPECT_TRUE(node.findings.empty());
    EXPECT_EQ(node.not_measured,
              std::vector<std::string>{
                  "NUMA node 0 (2 cores): its memory: not measured within 50 s: the node is busy"});
}

TEST(MeasuringProcess, NamesWhatEndedIt) {
    ProcessResult result = written(begin_line("GPU 1: its memory"));
    result.exit_code = 139;
    result.err = "segmentation fault\nmore";
    const NodeFigures node = figures_of_process(result, kMeasuringDeadline);
    ASSERT_EQ(node.findings.size(), 1U);
    EXPECT_EQ(node.findings[0].text,
              "GPU 1: its memory: measuring it ended with exit code 139: segmentation fault");
}

TEST(MeasuringProcess, IsEndedAtItsDeadline) {
    const NodeFigures node = measure_node({"sleep", "100"}, std::chrono::milliseconds(50));
    ASSERT_EQ(node.findings.size(), 1U);
    EXPECT_EQ(node.findings[0].text, "its start: not measured within 0.05 s");
}

TEST(MeasuringProcess, IsNotMissedIfItCannotStart) {
    const NodeFigures node = measure_node({"/absent/program"});
    EXPECT_TRUE(node.findings.empty());
    ASSERT_EQ(node.not_measured.size(), 1U);
    EXPECT_NE(node.not_measured[0].find("/absent/program"), std::string::npos);
}

}  // namespace
}  // namespace voltpile
