#include "run/phase_table.h"

#include <gtest/gtest.h>

using namespace voltpile;

TEST(PhaseTable, ShowsWhereThreadsAreAndSinceWhen) {
    PhaseStates states{};
    states[static_cast<std::size_t>(Phase::Compute)] = {4711, 3, 7.25};
    states[static_cast<std::size_t>(Phase::Commit)] = {20, 0, 0};
    RankPhases phases;
    phases.see(states, 107.25);
    EXPECT_EQ(phase_table({{"rank 0 on node1", &phases}, {"rank 1 on node2", nullptr}}, 107.5),
              "  rank             phase    threads  steps  last step\n"
              "  rank 0 on node1  compute        3   4711  7.5 s ago\n"
              "                   commit         0     20  ended\n"
              "  rank 1 on node2  unknown\n");
}
