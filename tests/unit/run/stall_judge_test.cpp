#include "run/stall_judge.h"

#include <gtest/gtest.h>

using namespace voltpile;

// Ranks whose threads are where the test puts them. Each second, every rank reports and the judge looks.
class StallJudgeCase : public testing::Test {
  protected:
    static constexpr double kTick = 0.5;

    StallJudge& judge(std::vector<int> teams) {
        ranks_.resize(teams.size());
        return judge_.emplace(std::move(teams), WatchdogDeadlines{});
    }

    void put(int rank, Phase phase) {
        ranks_[static_cast<std::size_t>(rank)] = {};
        of(rank, phase).threads = 1;
    }
    PhaseState& of(int rank, Phase phase) {
        return ranks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(phase)];
    }

    // Lets that time pass; `moving` ranks step in this phase at each tick, `silent` ones say nothing.
    std::optional<HungRank> pass(double seconds, std::vector<int> moving = {}, Phase phase = Phase::Compute,
                                 int silent = -1) {
        for (const double end = now_ + seconds; now_ < end; now_ += kTick) {
            for (PhaseStates& states : ranks_)
                for (PhaseState& state : states) state.still_s += kTick;
            for (const int rank : moving) {
                ++of(rank, phase).steps;
                of(rank, phase).still_s = 0;
            }
            for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
                if (rank == silent) continue;
                judge_->heard(rank, now_);
                judge_->sees(rank, ranks_[static_cast<std::size_t>(rank)], now_);
            }
            if (auto hung = judge_->look(now_)) return hung;
        }
        return std::nullopt;
    }

    std::optional<StallJudge> judge_;
    std::vector<PhaseStates> ranks_;
    double now_ = 0;
};

TEST_F(StallJudgeCase, NamesTheRankWhoseComputingStandsStill) {
    judge({0, 1, 2});
    for (int rank = 0; rank < 3; ++rank) put(rank, Phase::Compute);
    of(1, Phase::Compute).steps = 4711;
    EXPECT_FALSE(pass(60, {0, 2}));
    const auto hung = pass(2, {0, 2});
    ASSERT_TRUE(hung);
    EXPECT_EQ(hung->rank, 1);
    EXPECT_TRUE(hung->answers);
    EXPECT_TRUE(hung->why.starts_with("compute has not moved for 6")) << hung->why;
    EXPECT_TRUE(hung->why.ends_with("(step 4711)")) << hung->why;
}

TEST_F(StallJudgeCase, LeavesAComputationAloneThatMoves) {
    judge({0, 1});
    put(0, Phase::Compute);
    put(1, Phase::Compute);
    EXPECT_FALSE(pass(36000, {0, 1}));
}

TEST_F(StallJudgeCase, LeavesRanksAloneThatHaveNothingToDo) {
    judge({0, 1});
    put(0, Phase::Compute);
    EXPECT_FALSE(pass(3600, {0}));
}

TEST_F(StallJudgeCase, APhaseThatBeginsAfterALongPauseIsNotLate) {
    judge({0});
    EXPECT_FALSE(pass(600));
    put(0, Phase::Commit);
    EXPECT_FALSE(pass(100));
}

TEST_F(StallJudgeCase, BlamesTheRankThatOthersWaitFor) {
    judge({0, 0, 0});
    put(0, Phase::Collective);
    put(1, Phase::Compute);
    put(2, Phase::Collective);
    EXPECT_FALSE(pass(15));
    const auto hung = pass(2);
    ASSERT_TRUE(hung);
    EXPECT_EQ(hung->rank, 1);
    EXPECT_NE(hung->why.find("while rank 0 waits for it (collective, step 0)"), std::string::npos)
        << hung->why;
}

TEST_F(StallJudgeCase, WaitsForATeammateThatComputesForLong) {
    judge({0, 0});
    put(0, Phase::Collective);
    put(1, Phase::Compute);
    EXPECT_FALSE(pass(3600, {1}));
}

TEST_F(StallJudgeCase, AnotherTeamThatMovesIsNoExcuse) {
    judge({0, 0, 1});
    put(0, Phase::Collective);
    put(1, Phase::Collective);
    put(2, Phase::Compute);
    of(0, Phase::Collective).steps = 88;
    of(1, Phase::Collective).steps = 87;
    const auto hung = pass(17, {2});
    ASSERT_TRUE(hung);
    EXPECT_EQ(hung->rank, 1) << "it is behind";
    EXPECT_NE(hung->why.find("(step 87), and all ranks of its team wait"), std::string::npos) << hung->why;
}

TEST_F(StallJudgeCase, BlamesTheStageThatSendsNothing) {
    judge({0, 0});
    put(0, Phase::Transfer);
    put(1, Phase::Compute);
    const auto hung = pass(17);
    ASSERT_TRUE(hung);
    EXPECT_EQ(hung->rank, 1);
}

// On GPUs a rank computes and, while a pass of its group is on the GPU, waits in a collective as well.
TEST_F(StallJudgeCase, BlamesTheRankThatStaysOutOfACollectiveOnGpus) {
    judge({0, 0});
    for (const int rank : {0, 1}) put(rank, Phase::Compute);
    of(0, Phase::Collective).threads = 1;
    const auto hung = pass(17);
    ASSERT_TRUE(hung);
    EXPECT_EQ(hung->rank, 1);
    EXPECT_TRUE(hung->why.starts_with("compute has not moved for 1")) << hung->why;
    EXPECT_LE(now_, 16);
}

TEST_F(StallJudgeCase, WaitsForAStageWhoseCollectivesMove) {
    judge({0, 0});
    put(0, Phase::Collective);
    put(1, Phase::Transfer);
    EXPECT_FALSE(pass(100, {0}, Phase::Collective));
    EXPECT_TRUE(pass(17));
}

TEST_F(StallJudgeCase, ASilentRankIsNamedBeforeThoseThatWaitForIt) {
    judge({0, 0});
    put(0, Phase::Collective);
    put(1, Phase::Collective);  // as it last said
    of(1, Phase::Collective).steps = 1;
    EXPECT_FALSE(pass(1));
    const auto hung = pass(20, {}, Phase::Compute, 1);
    ASSERT_TRUE(hung);
    EXPECT_EQ(hung->rank, 1);
    EXPECT_FALSE(hung->answers);
    EXPECT_TRUE(hung->why.starts_with("has been silent for 15 s")) << hung->why;
}

TEST_F(StallJudgeCase, NamesARankWhoseProcessHasEnded) {
    judge({0, 1});
    EXPECT_FALSE(pass(10));
    judge_->gone(1, now_);
    EXPECT_FALSE(pass(5, {}, Phase::Compute, 1));
    const auto hung = pass(1, {}, Phase::Compute, 1);
    ASSERT_TRUE(hung);
    EXPECT_EQ(hung->rank, 1);
    EXPECT_FALSE(hung->answers);
}

TEST_F(StallJudgeCase, ARankThatEndedInOrderNeedNotAnswer) {
    judge({0, 1});
    EXPECT_FALSE(pass(10));
    judge_->forget(1);
    judge_->gone(1, now_);
    for (const double end = now_ + 100; now_ < end; now_ += kTick) {
        judge_->heard(0, now_);
        EXPECT_FALSE(judge_->look(now_));
    }
}

TEST_F(StallJudgeCase, ATeamThatIsGivenUpIsNotNamedAgain) {
    judge({0, 0, 1});
    put(0, Phase::Collective);
    put(1, Phase::Compute);
    const auto hung = pass(17);
    ASSERT_TRUE(hung);
    judge_->give_up_team(hung->rank);
    EXPECT_FALSE(pass(600));
}
