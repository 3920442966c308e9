#include "health/judge_figures.h"

#include <gtest/gtest.h>

namespace voltpile {
namespace {

// V100-SXM2: 900 GB/s, 7.8 TFLOP/s FP64.
Figure read_of(int gpu, double gb_per_s) {
    return figure_of(FigureKind::GpuRead, "GPU " + std::to_string(gpu), "V100", gb_per_s * 1e9, 900e9);
}

std::vector<std::string> texts_of(const std::vector<NodeFinding>& findings) {
    std::vector<std::string> texts;
    for (const NodeFinding& finding : findings) texts.push_back(finding.text);
    return texts;
}

TEST(JudgeFigures, AcceptsEqualGpusNearTheory) {
    const auto findings =
        judge_figures({{read_of(0, 830), read_of(1, 825), read_of(2, 840), read_of(3, 828)}});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_TRUE(findings[0].empty());
}

TEST(JudgeFigures, FindsAFigureFarBelowTheory) {
    const auto findings = judge_figures({{read_of(0, 450)}});
    EXPECT_EQ(texts_of(findings[0]),
              std::vector<std::string>{"GPU 0: memory, read: 450 GB/s, 50 % of the 900 GB/s in theory"});
    EXPECT_EQ(findings[0][0].health, Health::Degraded);
    EXPECT_FALSE(findings[0][0].advice.empty());
}

TEST(JudgeFigures, FindsAnOutlierAmongPeers) {
    // 700 GB/s is above 75 % of the theory, but below 90 % of what the others reach.
    const auto findings =
        judge_figures({{read_of(0, 830), read_of(1, 825), read_of(2, 700), read_of(3, 828)}});
    EXPECT_EQ(texts_of(findings[0]),
              std::vector<std::string>{"GPU 2: memory, read: 700 GB/s, its peers 828 GB/s"});
}

TEST(JudgeFigures, ComparesAcrossNodes) {
    const auto findings = judge_figures({{read_of(0, 830)}, {read_of(0, 700)}, {read_of(0, 835)}});
    EXPECT_TRUE(findings[0].empty());
    EXPECT_EQ(findings[1].size(), 1U);
    EXPECT_TRUE(findings[2].empty());
}

TEST(JudgeFigures, BlamesTheSlowerOfTwo) {
    const auto findings = judge_figures({{read_of(0, 830), read_of(1, 700)}});
    ASSERT_EQ(findings[0].size(), 1U);
    EXPECT_EQ(findings[0][0].text.substr(0, 5), "GPU 1");
}

TEST(JudgeFigures, ComparesOnlyGpusOfOneModel) {
    Figure other = read_of(1, 300);
    other.model = "RTX 3060";
    other.theory = 360e9;
    other.least = 0.75 * other.theory;
    EXPECT_TRUE(judge_figures({{read_of(0, 830), other}})[0].empty());
}

TEST(JudgeFigures, ComparesLinksOfOneSpeed) {
    // Two NVLinks carry 50 GB/s, one carries 25.
    const auto link = [](double rate, double theory) {
        return figure_of(FigureKind::GpuToGpu, "GPU 0 to GPU 1", "V100, NVLink", rate, theory);
    };
    EXPECT_TRUE(judge_figures({{link(48e9, 50e9), link(24e9, 25e9), link(24e9, 25e9)}})[0].empty());
    EXPECT_EQ(judge_figures({{link(48e9, 50e9), link(24e9, 50e9), link(48e9, 50e9)}})[0].size(), 1U);
}

TEST(JudgeFigures, NeedsNoTheoryToFindAnOutlier) {
    const auto memory = [](const char* place, double rate) {
        return figure_of(FigureKind::HostRead, place, "Xeon, 16 cores", rate, 0);
    };
    const auto findings =
        judge_figures({{memory("NUMA node 0 (16 cores)", 60e9), memory("NUMA node 1 (16 cores)", 30e9)}});
    EXPECT_EQ(
        texts_of(findings[0]),
        std::vector<std::string>{"NUMA node 1 (16 cores): host memory, read: 30 GB/s, its peers 60 GB/s"});
    EXPECT_TRUE(judge_figures({{memory("NUMA node 0 (16 cores)", 30e9)}})[0].empty());
}

TEST(JudgeFigures, TakesNothingForNothing) {
    EXPECT_TRUE(judge_figures({}).empty());
    EXPECT_TRUE(judge_figures({{}, {}})[1].empty());
}

}  // namespace
}  // namespace voltpile
