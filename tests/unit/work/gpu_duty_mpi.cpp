// What the GPUs of a host keep to, on all of its ranks. Runs under mpirun on 1 to 4 ranks of one host
// (tests/CMakeLists.txt).
#include "work/gpu_duty.h"

#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace std::chrono_literals;
using test::world;

namespace {

TEST(GpuDuty, OneRankSetsTheRestOfAll) {
    GpuDuty duty(world(), 0ms, world().rank(), world().size());
    EXPECT_EQ(duty.rest(), 0);
    world().all_gather("");
    EXPECT_EQ(duty.leads_host(), world().rank() == 0);
    if (duty.leads_host()) duty.set_rest(0.25);
    world().all_gather("");
    EXPECT_EQ(duty.rest(), 0.25);
    world().all_gather("");
    if (duty.leads_host()) duty.set_rest(1);  // work goes on in any case
    world().all_gather("");
    EXPECT_EQ(duty.rest(), GpuDuty::most_rest);
}

TEST(GpuDuty, GpusBeginOneAfterAnother) {
    const GpuDuty duty(world(), 250ms, world().rank(), 4);
    EXPECT_EQ(duty.begins_after(), world().rank() * 250ms);
    EXPECT_EQ(duty.ramp_time(), 1000ms);
}

TEST(GpuDuty, GpusInStepBeginWithTheWorkOfOne) {
    GpuDuty duty(world(), 250ms, world().rank(), 4);
    EXPECT_DOUBLE_EQ(duty.rest_in_step(0s), 0.75);
    EXPECT_DOUBLE_EQ(duty.rest_in_step(500ms), 0.375);
    EXPECT_EQ(duty.rest_in_step(1s), 0);
    world().all_gather("");
    if (duty.leads_host()) duty.set_rest(0.5);
    world().all_gather("");
    EXPECT_EQ(duty.rest_in_step(500ms), 0.5);
    EXPECT_EQ(duty.rest_in_step(5s), 0.5);
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
