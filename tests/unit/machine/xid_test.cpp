#include "machine/xid.h"

#include <gtest/gtest.h>

#include <tuple>

namespace voltpile {
namespace {

TEST(Xids, AreCountedForEachGpuAndNumber) {
    // Lines of /dev/kmsg, of dmesg, of journalctl and of an old driver.
    const auto xids = count_xids(
        "4,1201,98765432,-;NVRM: Xid (PCI:0000:3a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
        "off "
        "the bus.\n"
        "[12345.678901] NVRM: Xid (PCI:0000:15:00): 31, pid=4242, name=python3, Ch 00000008, MMU Fault\n"
        "Nov 22 10:11:12 node3 kernel: NVRM: Xid (PCI:0000:3A:00): 79, pid=1, GPU has fallen off the bus.\n"
        "NVRM: Xid (0000:15:00): 13, Graphics Exception\n"
        "NVRM: GPU at PCI:0000:3a:00: GPU-1234\n"
        "NVRM: Xid (PCI:0000:3a:00");  // cut off
    std::vector<std::tuple<std::string, int, int>> seen;
    for (const XidCount& xid : xids) seen.emplace_back(xid.bus_id, xid.number, xid.times);
    EXPECT_EQ(seen, (std::vector<std::tuple<std::string, int, int>>{
                        {"0000:15:00.0", 13, 1}, {"0000:15:00.0", 31, 1}, {"0000:3a:00.0", 79, 2}}));
    EXPECT_TRUE(count_xids("").empty());
}

TEST(Xids, AreExplained) {
    NodeGpus node;
    node.gpus.resize(2);
    node.gpus[0].bus_id = "0000:15:00.0";
    node.gpus[1].bus_id = "0000:3a:00.0";
    const auto findings =
        judge_xids({{"0000:15:00.0", 31, 1}, {"0000:3a:00.0", 79, 2}, {"0000:3b:00.0", 48, 1}}, node);
    ASSERT_EQ(findings.size(), 3U);
    EXPECT_EQ(findings[0].text,
              "GPU 0 (0000:15:00.0): Xid 31 (access to an invalid address), once since the node was started");
    EXPECT_EQ(findings[0].health, Health::Ok);  // a program's error is no fault of the node
    EXPECT_EQ(findings[1].text,
              "GPU 1 (0000:3a:00.0): Xid 79 (fell off the bus), 2 times since the node was started");
    EXPECT_EQ(findings[1].health, Health::Bad);
    EXPECT_NE(findings[1].advice.find("power supply"), std::string::npos);
    EXPECT_EQ(findings[2].text.substr(0, 20), "GPU at 0000:3b:00.0:");  // lost, so not listed
    EXPECT_EQ(findings[2].health, Health::Degraded);
}

// NVIDIA adds numbers with new drivers.
TEST(Xids, AreReportedIfUnknown) {
    const auto findings = judge_xids({{"0000:15:00.0", 999, 3}}, NodeGpus{});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].health, Health::Ok);
    EXPECT_NE(findings[0].text.find("Xid 999"), std::string::npos);
}

}  // namespace
}  // namespace voltpile
