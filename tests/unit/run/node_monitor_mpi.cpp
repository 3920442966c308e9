// What the GPUs of a node draw, on all ranks of it: a stand-in NVML plays the node. Runs under mpirun on 1 to
// 4 ranks of one host (tests/CMakeLists.txt).
#include "run/node_monitor.h"

#include <thread>

#include "machine/stand_in_node.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace std::chrono_literals;
using test::world;
using voltpile::testing::StandInNode;

namespace {

TEST(NodeMonitor, EveryRankKnowsThePowerOfItsNode) {
    StandInNode stand_in;
    for (int gpu = 0; gpu < 4; ++gpu) stand_in.gpu(gpu)["power_w"] = 100 + gpu;
    stand_in.use();
    NodeMonitor monitor(world(), 100ms);
    EXPECT_EQ(monitor.watch() != nullptr, world().rank() == 0);
    std::optional<double> power;
    for (int i = 0; i < 600 && !power; ++i) {
        power = monitor.gpu_power_w(30s);
        std::this_thread::sleep_for(50ms);
    }
    EXPECT_EQ(power, 406);
    world().all_gather("");  // the first rank samples until all know
}

TEST(NodeMonitor, OldPowerDoesNotCount) {
    StandInNode stand_in;
    stand_in.use();
    NodeMonitor monitor(world(), 30s);
    if (NodeWatch* watch = monitor.watch()) watch->await_first(30s);
    world().all_gather("");
    EXPECT_TRUE(monitor.gpu_power_w(30s));
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(monitor.gpu_power_w(10ms));
    world().all_gather("");
}

TEST(NodeMonitor, HungDriverHasNoPower) {
    StandInNode stand_in;
    stand_in.node["hang"] = true;
    stand_in.use();
    const NodeMonitor monitor(world(), 100ms);
    std::this_thread::sleep_for(300ms);
    EXPECT_FALSE(monitor.gpu_power_w(30s));
    world().all_gather("");
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
