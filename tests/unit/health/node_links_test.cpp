#include "health/node_links.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace voltpile {
namespace {

NodeLinks equal_links(std::size_t nodes, double bytes_per_s, double latency_us) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < nodes; ++i) names.push_back("node" + std::to_string(i + 1));
    NodeLinks links(names);
    for (std::size_t a = 0; a < nodes; ++a)
        for (std::size_t b = 0; b < nodes; ++b) {
            if (a == b) continue;
            links.bytes_per_s[a][b] = bytes_per_s;
            links.latency_us[a][b] = latency_us;
        }
    return links;
}

void slow_down(NodeLinks& links, std::size_t a, std::size_t b, double bytes_per_s) {
    links.bytes_per_s[a][b] = links.bytes_per_s[b][a] = bytes_per_s;
}

TEST(NodeLinks, EqualLinksAreHealthy) {
    for (const auto& findings : judge_links(equal_links(4, 1.1e9, 15))) EXPECT_TRUE(findings.empty());
    EXPECT_TRUE(judge_links(NodeLinks()).empty());
    EXPECT_EQ(links_text(NodeLinks()), "");
}

TEST(NodeLinks, AreNotBadIfNotMeasured) {
    NodeLinks links = equal_links(4, 1.1e9, 15);
    slow_down(links, 1, 3, 0);
    links.latency_us[1][3] = links.latency_us[3][1] = 0;
    for (const auto& findings : judge_links(links)) EXPECT_TRUE(findings.empty());
    EXPECT_EQ(not_measured_with(links, 1), std::vector<std::string>{"node4"});
    EXPECT_EQ(not_measured_with(links, 3), std::vector<std::string>{"node2"});
    EXPECT_TRUE(not_measured_with(links, 0).empty());
}

TEST(NodeLinks, BlameTheNodeWhoseLinksAreAllSlow) {
    NodeLinks links = equal_links(3, 1.1e9, 15);
    slow_down(links, 1, 0, 11e6);
    slow_down(links, 1, 2, 12e6);
    const auto findings = judge_links(links);
    EXPECT_TRUE(findings[0].empty());
    ASSERT_EQ(findings[1].size(), 1u);
    EXPECT_EQ(findings[1][0].text,
              "its links to all other nodes are slow: at best 12.0 MB/s, where others reach 1.1 GB/s");
    EXPECT_EQ(findings[1][0].health, Health::Degraded);
    EXPECT_TRUE(findings[2].empty());
}

TEST(NodeLinks, BlameBothEndsOfASlowLink) {
    NodeLinks links = equal_links(4, 1.1e9, 15);
    links.bytes_per_s[0][2] = 90e6;  // one direction
    const auto findings = judge_links(links);
    ASSERT_EQ(findings[0].size(), 1u);
    EXPECT_EQ(findings[0][0].text, "its link to node3 is slow: 90.0 MB/s, where others reach 1.1 GB/s");
    EXPECT_TRUE(findings[1].empty());
    EXPECT_EQ(findings[2].size(), 1u);
    EXPECT_TRUE(findings[3].empty());
}

TEST(NodeLinks, FindLateMessages) {
    NodeLinks links = equal_links(4, 1.1e9, 15);
    links.latency_us[1][3] = links.latency_us[3][1] = 900;
    links.latency_us[0][1] = links.latency_us[1][0] = 62;  // a busy node
    const auto findings = judge_links(links);
    EXPECT_TRUE(findings[0].empty());
    ASSERT_EQ(findings[1].size(), 1u);
    EXPECT_EQ(findings[1][0].text,
              "its link to node4 is slow: messages take 900 µs, where others take 15 µs");
}

TEST(NodeLinks, CompareTwoNodesWithTheirAdapters) {
    NodeLinks links = equal_links(2, 1.2e9, 15);
    links.adapter_bytes_per_s = {12.5e9, 12.5e9};  // 100 Gb/s, but MPI uses another network
    const auto findings = judge_links(links);
    ASSERT_EQ(findings[0].size(), 1u);
    EXPECT_EQ(findings[0][0].text,
              "its link to node2: 1.2 GB/s, 10 % of the 12.5 GB/s of its network adapter");
    EXPECT_EQ(findings[1].size(), 1u);
    links.adapter_bytes_per_s[1] = 1.25e9;  // a slower adapter at the other end
    EXPECT_TRUE(judge_links(links)[0].empty());
}

TEST(NodeLinks, TextAndJsonHaveBothDirections) {
    NodeLinks links = equal_links(2, 1.1e9, 15);
    links.bytes_per_s[1][0] = 0.9e9;
    links.transport = "TCP over eth0";
    EXPECT_EQ(links_text(links),
              "between 2 nodes, host memory, TCP over eth0: 15 to 15 µs, 900 MB/s to 1.1 GB/s\n");
    EXPECT_EQ(links_json(links, 1).dump(), R"([{"bytes_per_s":900000000.0,"latency_us":15.0,"to":"node1"}])");
}

}  // namespace
}  // namespace voltpile
