#include <gtest/gtest.h>

#include "plan/links.h"

namespace voltpile {
namespace {

Topology hosts_with(const std::vector<std::pair<std::string, std::string>>& transports) {
    Topology topology;
    for (const auto& [name, transport] : transports) {
        Host host;
        host.name = name;
        host.transport = transport;
        topology.hosts.push_back(host);
    }
    return topology;
}

TEST(TransportsText, GroupsHostsByTransport) {
    EXPECT_EQ(transports_text(hosts_with({{"a", "TCP over eth0"}, {"b", "TCP over eth0"}})),
              "a, b: TCP over eth0");
    EXPECT_EQ(transports_text(hosts_with({{"a", "UCX over mlx5_0 (100 Gb/s)"},
                                          {"b", "TCP over eth0"},
                                          {"c", "UCX over mlx5_0 (100 Gb/s)"}})),
              "a, c: UCX over mlx5_0 (100 Gb/s); b: TCP over eth0");
}

TEST(TransportsText, CountsHostsBeyondTheFirst) {
    std::vector<std::pair<std::string, std::string>> hosts;
    for (int i = 1; i <= 40; ++i) hosts.emplace_back("n" + std::to_string(i), "TCP");
    EXPECT_EQ(transports_text(hosts_with(hosts)), "n1, n2, n3, n4, n5, n6, n7, n8 and 32 more: TCP");
}

}  // namespace
}  // namespace voltpile
