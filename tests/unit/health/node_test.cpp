#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "health/clocks.h"
#include "health/node_report.h"
#include "health/software.h"

namespace voltpile {
namespace {

TEST(Clock, MayDifferByASecond) {
    EXPECT_FALSE(judge_clock({0.9, 0}));
    EXPECT_FALSE(judge_clock({-0.9, 0}));
    EXPECT_FALSE(judge_clock({5, 4.5}));  // the messages may have taken this long
    const auto ahead = judge_clock({75, 0.001}), behind = judge_clock({-3, 0.001});
    ASSERT_TRUE(ahead && behind);
    EXPECT_EQ(ahead->text, "the clock is 75 s ahead of those of the other nodes (± 1 ms)");
    EXPECT_NE(behind->text.find("behind"), std::string::npos);
    EXPECT_NE(behind->advice.find("chrony"), std::string::npos);
}

NodeGpus node_with(const char* gpu, int cuda_version) {
    NodeGpus node;
    node.driver_version = "535.183.01";
    node.cuda_version = cuda_version;
    node.gpus.resize(1);
    node.gpus[0].name = gpu;
    node.gpus[0].bus_id = "0000:15:00.0";
    return node;
}

TEST(Software, ServesGpusOfItsCuda) {
    EXPECT_TRUE(check_software(node_with("Tesla V100-SXM2-16GB", 12020), "12.4").empty());
    EXPECT_TRUE(check_software(node_with("NVIDIA H200", 13000), "13.0").empty());
    EXPECT_TRUE(check_software(node_with("Tesla T4", 13000), "13.0").empty());
    EXPECT_TRUE(check_software(node_with("NVIDIA T400", 13000), "13.0").empty());
    EXPECT_TRUE(check_software(node_with("NVIDIA H200", 12020), "no").empty());
    EXPECT_TRUE(check_software(NodeGpus{}, "13.0").empty());
}

TEST(Software, NeedsADriverOfItsCuda) {
    const auto findings = check_software(node_with("NVIDIA H200", 12020), "13.0");
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].health, Health::Degraded);
    EXPECT_EQ(findings[0].text, "the driver 535.183.01 serves CUDA 12.2, but this program needs CUDA 13");
}

TEST(Software, LacksCodeForGpusThatCudaDropped) {
    for (const char* gpu :
         {"Tesla V100-SXM2-16GB", "NVIDIA TITAN V", "NVIDIA GeForce GTX 1060 6GB", "Tesla P40"}) {
        const auto findings = check_software(node_with(gpu, 13000), "13.0");
        ASSERT_EQ(findings.size(), 1U) << gpu;
        EXPECT_NE(findings[0].text.find(gpu), std::string::npos);
        EXPECT_NE(findings[0].advice.find("CUDA 12"), std::string::npos);
    }
}

NodeReport report_of(const char* node, const char* driver, const char* nccl) {
    NodeReport report;
    report.node = node;
    report.versions = {{"NVIDIA driver", driver}, {"NCCL", nccl}};
    return report;
}

TEST(NodeReports, CompareVersions) {
    std::vector<NodeReport> same{report_of("a", "580.1", "2.27.3"), report_of("b", "580.1", "2.27.3")};
    compare_nodes(same);
    EXPECT_TRUE(same[0].findings.empty());
    std::vector<NodeReport> reports{report_of("a", "580.1", "2.27.3"), report_of("b", "580.1", "2.18.5"),
                                    report_of("c", "", "")};  // has no GPUs
    compare_nodes(reports);
    ASSERT_EQ(reports[0].findings.size(), 1U);
    EXPECT_EQ(reports[0].findings[0].text, "NCCL 2.27.3; other nodes have another version");
    EXPECT_EQ(reports[1].findings.size(), 1U);
    EXPECT_TRUE(reports[2].findings.empty());
}

TEST(NodeReports, FindSlowGpusOnOtherNodes) {
    std::vector<NodeReport> reports(3);
    for (std::size_t i = 0; i < 3; ++i)
        reports[i].figures = {figure_of(FigureKind::Fp64, "GPU 0", "V100", i == 1 ? 6e12 : 7.7e12, 7.8e12)};
    compare_nodes(reports);
    EXPECT_TRUE(reports[0].findings.empty());
    ASSERT_EQ(reports[1].findings.size(), 1U);
    EXPECT_EQ(reports[1].findings[0].text, "GPU 0: FP64: 6 TFLOP/s, its peers 7.7 TFLOP/s");
}

TEST(NodeReports, SurviveJson) {
    NodeReport report = report_of("a", "580.1", "2.27.3");
    report.driver = "580.1";
    report.gpus = {{"0000:15:00.0", "V100"}};
    report.findings = {{Health::Bad, "text", "advice"}, {Health::Ok, "restored", "nothing to do"}};
    report.figures = {figure_of(FigureKind::Fp64, "GPU 0", "V100", 6e12, 7.8e12)};
    report.not_measured = {"GPU 1: in use"};
    EXPECT_EQ(report_json(report_from(report_json(report))), report_json(report));
    EXPECT_EQ(report_json(report)["verdict"], "bad");
}

}  // namespace
}  // namespace voltpile
