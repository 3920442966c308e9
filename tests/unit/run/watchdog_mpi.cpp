// Ranks that end in order, fall silent or stand still. Runs under mpirun on 1 to 3 ranks
// (tests/CMakeLists.txt).
#include "run/watchdog.h"

#include <future>

#include "run/peer_processes.h"
#include "run/watch_links.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using test::session;
using test::world;

namespace {

// All ranks on one host, each a team of its own.
Plan plan_of_world() {
    Topology topology;
    Host host;
    host.name = "node1";
    host.cpu_ghz = 1;
    for (int core = 0; core < world().size(); ++core) host.cores.push_back({core, 0});
    topology.hosts.push_back(host);
    for (int rank = 0; rank < world().size(); ++rank) topology.ranks.push_back({0, rank, {rank}, {}});
    Workload work;
    work.points = 100;
    return make_plan(work, {}, topology);
}

WatchdogDeadlines short_deadlines() {
    WatchdogDeadlines deadlines;
    deadlines.silent = 1;
    deadlines.phases.fill(1);
    return deadlines;
}

// What a watchdog does first, without ever giving a sign of life.
struct SilentWatchdog {
    WatchLinks links{world()};
    PeerProcesses peers{world()};
};

TEST(Watchdog, RanksThatEndInOrderAreNotNamed) {
    std::atomic<int> named{0};
    {
        const Watchdog watchdog(session(), plan_of_world(), WatchdogDeadlines{},
                                [&](const HungRank&, const std::string&) { ++named; });
        if (world().rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    EXPECT_EQ(named, 0);
    world().wait_asleep();
}

TEST(Watchdog, RankZeroNamesASilentRank) {
    const int silent = world().size() - 1;
    if (silent == 0) return;
    if (world().rank() == silent) {
        const SilentWatchdog silence;
        world().broadcast("", 0);
        world().wait_asleep();
        return;
    }
    std::promise<std::string> found;
    {
        const Watchdog watchdog(session(), plan_of_world(), short_deadlines(),
                                [&](const HungRank& hung, const std::string& text) {
                                    EXPECT_FALSE(hung.answers);
                                    if (hung.rank == silent) found.set_value(text);
                                });
        if (world().rank() == 0) {
            EXPECT_TRUE(found.get_future().get().starts_with("rank " + std::to_string(silent) +
                                                             " on node1 has been silent for 1 s"));
        }
        world().broadcast("", 0);
    }
    world().wait_asleep();
}

TEST(Watchdog, OtherRanksNameRankZero) {
    if (world().size() == 1) return;
    if (world().rank() == 0) {
        const SilentWatchdog silence;
        world().wait_asleep();
        return;
    }
    std::promise<int> found;
    const Watchdog watchdog(session(), plan_of_world(), short_deadlines(),
                            [&](const HungRank& hung, const std::string&) { found.set_value(hung.rank); });
    EXPECT_EQ(found.get_future().get(), 0);
    world().wait_asleep();
}

TEST(Watchdog, RankZeroNamesTheRankThatStandsStill) {
    const int still = world().size() - 1;
    std::promise<HungRank> found;
    WatchdogDeadlines deadlines;
    deadlines.phases.fill(1);
    const Watchdog watchdog(session(), plan_of_world(), deadlines,
                            [&](const HungRank& hung, const std::string&) { found.set_value(hung); });
    const InPhase computing(Phase::Compute);
    if (world().rank() == 0) {
        auto future = found.get_future();
        while (future.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
            if (still > 0) count_step(Phase::Compute);
        const HungRank hung = future.get();
        EXPECT_EQ(hung.rank, still);
        EXPECT_TRUE(hung.answers);
        EXPECT_TRUE(hung.why.starts_with("compute has not moved for"));
    }
    world().wait_asleep([&] {
        if (world().rank() != still) count_step(Phase::Compute);
    });
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
