// Ranks that end in order and ranks that fall silent. Runs under mpirun on 1 to 4 ranks
// (tests/CMakeLists.txt).
#include "llm/session/life_watch.h"

#include <future>
#include <mutex>
#include <set>

#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::world;

namespace {

constexpr LifeWatchSettings impatient{std::chrono::seconds(1), std::chrono::seconds(1)};

Communicator own_link() {
    Communicator link = world().split(0);
    link.set_own_thread();
    return link;
}

TEST(LifeWatch, RanksThatEndInOrderAreNotLost) {
    const Communicator link = own_link();
    std::set<int> lost;
    {
        const LifeWatch watch(link, [&](int rank, const std::string&) { lost.insert(rank); });
        if (world().rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    EXPECT_TRUE(lost.empty());
    world().wait_asleep();
}

TEST(LifeWatch, RankZeroLosesASilentRank) {
    const Communicator link = own_link();
    const int silent = world().size() - 1;
    if (world().rank() == 0 && silent > 0) {
        std::promise<std::string> found;
        const LifeWatch watch(
            link,
            [&](int rank, const std::string& why) {
                if (rank == silent) found.set_value(why);
            },
            impatient);
        EXPECT_EQ(found.get_future().get(), "has been silent for 1 s");
        world().broadcast("", 0);
    } else if (world().rank() == silent) {
        world().broadcast("", 0);
    } else {
        const LifeWatch watch(link, [](int, const std::string&) {});
        world().broadcast("", 0);
    }
    world().wait_asleep();
}

TEST(LifeWatch, OtherRanksNoticeThatRankZeroIsGone) {
    const Communicator link = own_link();
    if (world().rank() > 0) {
        std::promise<int> found;
        const LifeWatch watch(
            link, [&](int rank, const std::string&) { found.set_value(rank); }, impatient);
        EXPECT_EQ(found.get_future().get(), 0);
    }
    world().wait_asleep();
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
