#include "cluster/hosts/network.h"

#include <gtest/gtest.h>

using namespace voltpile;

TEST(HostNetwork, AcceptsOnlyTheExpectedGreeting) {
    const PortListener listener("voltpile abc 0\n"), other("voltpile abc 1\n");
    const auto attempts = connect_to({{"a", "127.0.0.1", listener.port(), "voltpile abc 0\n"},
                                      {"b", "127.0.0.1", other.port(), "voltpile abc 0\n"},
                                      {"c", "127.0.0.1", 1, "voltpile abc 0\n"},  // tcpmux: usually closed
                                      {"d", "nonsense", 1, "x"}},
                                     2);
    ASSERT_EQ(attempts.size(), 4u);
    EXPECT_EQ(attempts[0].error, "");
    EXPECT_EQ(attempts[0].host, "a");
    EXPECT_EQ(attempts[1].error, "another machine or program answers there");
    EXPECT_EQ(attempts[2].error, "Connection refused");
    EXPECT_NE(attempts[3].error, "");
}

TEST(HostNetwork, ConnectsToManyAtOnce) {
    const PortListener listener("hello\n");
    const std::vector<PortTarget> targets(200, {"a", "127.0.0.1", listener.port(), "hello\n"});
    for (const PortAttempt& attempt : connect_to(targets, 5)) EXPECT_EQ(attempt.error, "");
}
