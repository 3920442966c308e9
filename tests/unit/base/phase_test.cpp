#include "base/phase.h"

#include <gtest/gtest.h>

#include <thread>

using namespace voltpile;

namespace {

PhaseState state_of(Phase phase) {
    const auto& counter = phase_detail::counters[static_cast<std::size_t>(phase)];
    return {counter.steps, counter.threads, 0};
}

TEST(Phase, AThreadIsInTheInnermostPhaseOnly) {
    const auto before = state_of(Phase::Compute).steps;
    {
        const InPhase computing(Phase::Compute);
        EXPECT_EQ(state_of(Phase::Compute).threads, 1);
        {
            const InPhase waiting(Phase::Collective);
            EXPECT_EQ(state_of(Phase::Compute).threads, 0);
            EXPECT_EQ(state_of(Phase::Collective).threads, 1);
        }
        EXPECT_EQ(state_of(Phase::Compute).threads, 1);
        EXPECT_EQ(state_of(Phase::Collective).threads, 0);
    }
    EXPECT_EQ(state_of(Phase::Compute).threads, 0);
    EXPECT_EQ(state_of(Phase::Compute).steps, before + 2) << "begun, and come back to";
}

TEST(Phase, CountsStepsOfAllThreads) {
    const auto before = state_of(Phase::Commit).steps;
    std::thread one([] {
        for (int i = 0; i < 1000; ++i) count_step(Phase::Commit);
    });
    for (int i = 0; i < 1000; ++i) count_step(Phase::Commit);
    one.join();
    EXPECT_EQ(state_of(Phase::Commit).steps, before + 2000);
}

}  // namespace
