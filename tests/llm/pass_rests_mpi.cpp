// How long a GPU rests between passes. Runs under mpirun, because GpuDuty is memory of a host's ranks.
#include "llm/replica/pass_rests.h"

#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using namespace std::chrono_literals;
using test::world;

namespace {

const RestTimes::Time start = RestTimes::Time() + 1h;

TEST(RestTimes, RestsAsLongAsItsShare) {
    GpuDuty duty(world(), 0ms, 0, 4);
    duty.set_rest(0.2);
    RestTimes times(duty);
    EXPECT_EQ(times.before_pass(start), 0s);
    times.begins(start);
    times.ends(start + 40ms);
    // 40 ms of work are 80 %.
    EXPECT_NEAR(times.before_pass(start + 40ms).count(), 0.010, 1e-9);
}

TEST(RestTimes, TimeWithoutWorkIsRest) {
    GpuDuty duty(world(), 0ms, 0, 4);
    duty.set_rest(0.5);
    RestTimes times(duty);
    times.before_pass(start);
    times.begins(start);
    times.ends(start + 40ms);
    EXPECT_NEAR(times.before_pass(start + 70ms).count(), 0.010, 1e-9);
    EXPECT_EQ(times.before_pass(start + 90ms), 0s);
}

TEST(RestTimes, NewWorkBeginsSlowly) {
    GpuDuty duty(world(), 250ms, 0, 4);
    RestTimes times(duty);
    times.before_pass(start);
    times.begins(start);
    times.ends(start + 10ms);
    // After 10 ms of the ramp of 1 s the GPUs work a little more than the quarter of one: rest/(1 - rest) is
    // (0.75 - 0.0075) / (0.25 + 0.0075).
    EXPECT_NEAR(times.before_pass(start + 10ms).count(), 0.010 * 0.7425 / 0.2575, 1e-6);
    times.begins(start + 2s);
    times.ends(start + 2010ms);
    EXPECT_EQ(times.before_pass(start + 2010ms), 0s);
    // Two seconds later the work is new again.
    EXPECT_EQ(times.before_pass(start + 4s), 0s);
    times.begins(start + 4s);
    times.ends(start + 4010ms);
    EXPECT_GT(times.before_pass(start + 4010ms), 20ms);
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
