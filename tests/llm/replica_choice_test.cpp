// Which replica answers a request.
#include "llm/session/replica_choice.h"

#include <gtest/gtest.h>

#include <numeric>

namespace voltpile::llm {
namespace {

// A prompt of `shared` tokens that all prompts have and `own` that no other has.
std::vector<std::int32_t> prompt_of(int shared, int own, int number) {
    std::vector<std::int32_t> prompt(static_cast<std::size_t>(shared));
    std::iota(prompt.begin(), prompt.end(), 1);
    for (int i = 0; i < own; ++i) prompt.push_back(1000 * (number + 1) + i);
    return prompt;
}

TEST(ReplicaChoice, SpreadsPromptsWithoutACommonBeginning) {
    ReplicaChoice choice(3);
    for (int i = 0; i < 30; ++i) choice.choose(prompt_of(0, 40, i));
    for (int replica = 0; replica < 3; ++replica) EXPECT_EQ(choice.load(replica), 10);
}

TEST(ReplicaChoice, PrefersTheReplicaWithTheLongestBeginning) {
    ReplicaChoice choice(3);
    const int first = choice.choose(prompt_of(32, 40, 0));
    const int second = choice.choose(prompt_of(0, 40, 1));
    EXPECT_NE(first, second);
    choice.ended(first);
    choice.ended(second);
    EXPECT_EQ(choice.choose(prompt_of(32, 40, 2)), first);
    EXPECT_EQ(choice.choose(prompt_of(0, 40, 1)), second);
    EXPECT_EQ(choice.choose(prompt_of(32, 40, 0)), first);
}

TEST(ReplicaChoice, LeavesAReplicaThatHasTooMuchToDo) {
    ReplicaChoice choice(2);
    const int first = choice.choose(prompt_of(64, 0, 0));
    int there = 1;
    while (choice.choose(prompt_of(64, 0, 0)) == first) ++there;
    EXPECT_EQ(there, ReplicaChoice::slack + 1);
    choice.ended(first);
    EXPECT_EQ(choice.load(first), ReplicaChoice::slack);
}

TEST(ReplicaChoice, ForgetsOldBeginnings) {
    ReplicaChoice choice(2);
    const auto mine = prompt_of(32, 0, 0);
    EXPECT_EQ(choice.choose(mine), 0);
    choice.ended(0);
    std::vector<std::int32_t> other(16 * 64);
    for (std::size_t i = 0; i < 3 * ReplicaChoice::most_beginnings / 64; ++i) {
        std::iota(other.begin(), other.end(), static_cast<std::int32_t>(100'000 * (i + 1) % 2'000'000'000));
        choice.ended(choice.choose(other));
    }
    EXPECT_EQ(choice.choose(prompt_of(0, 40, 1)), 0);  // busy, so that a forgotten prompt goes elsewhere
    EXPECT_EQ(choice.choose(mine), 1);
}

}  // namespace
}  // namespace voltpile::llm
