#include "run/phase_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace voltpile;

namespace {

PhaseState compute_of(const PhaseStates& states) {
    return states[static_cast<std::size_t>(Phase::Compute)];
}

TEST(PhaseClock, MeasuresTheThreadThatStandsStillForLongest) {
    PhaseClock clock;
    clock.read(0);
    std::atomic<bool> begun{false}, end{false};
    std::thread still([&] {
        const InPhase computing(Phase::Compute);
        begun = true;
        while (!end) std::this_thread::yield();
    });
    while (!begun) std::this_thread::yield();
    {
        const InPhase computing(Phase::Compute);
        for (double now = 1; now <= 6; ++now) {
            count_step(Phase::Compute);
            const PhaseState state = compute_of(clock.read(now));
            EXPECT_EQ(state.threads, 2);
            EXPECT_EQ(state.still_s, now - 1) << "the other thread was first seen at 1";
        }
    }
    end = true;
    still.join();
    EXPECT_EQ(compute_of(clock.read(7)).threads, 0);
    EXPECT_EQ(compute_of(clock.read(7)).still_s, 0);
}

TEST(PhaseClock, APhaseBegunAnewIsNotOld) {
    PhaseClock clock;
    for (double now = 0; now < 100; ++now) {
        const InPhase computing(Phase::Compute);
        EXPECT_EQ(compute_of(clock.read(now)).still_s, 0);
    }
}

TEST(PhaseClock, BeginsAnewAfterThisProcessWasSuspended) {
    PhaseClock clock;
    const InPhase computing(Phase::Compute);
    clock.read(0);
    EXPECT_EQ(compute_of(clock.read(1.5)).still_s, 1.5);
    EXPECT_EQ(compute_of(clock.read(3600)).still_s, 0);
    EXPECT_EQ(compute_of(clock.read(3601)).still_s, 1);
}

}  // namespace
