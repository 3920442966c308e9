// Which replica answers a request.
#include "llm/session/replica_choice.h"

#include <gtest/gtest.h>

#include <numeric>

namespace voltpile::llm::replica_choice_test {
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

// Calls `give_up` for the replica that has seen a prompt, after which others get that prompt. Returns it.
int given_up(ReplicaChoice& choice, void (ReplicaChoice::*give_up)(int)) {
    const int first = choice.choose(prompt_of(64, 0, 0));
    (choice.*give_up)(first);
    for (int i = 0; i < 20; ++i) EXPECT_NE(choice.choose(prompt_of(64, 0, 0)), first);
    EXPECT_EQ(choice.load(first), 1);
    return first;
}

TEST(ReplicaChoice, AvoidsAReplicaWhileOthersWork) {
    ReplicaChoice choice(3);
    const int first = given_up(choice, &ReplicaChoice::avoid);
    for (int replica = 0; replica < 3; ++replica)
        if (replica != first) choice.exclude(replica);
    EXPECT_EQ(choice.choose(prompt_of(0, 40, 1)), first);
}

TEST(ReplicaChoice, FollowsAConversation) {
    ReplicaChoice choice(3);
    // The first prompt is shorter than a page, so only the answer makes the second one known.
    std::vector<std::int32_t> conversation = prompt_of(0, 10, 0);
    const int first = choice.choose(conversation);
    for (int i = 0; i < 30; ++i) conversation.push_back(7000 + i);
    choice.ended(first, conversation);
    for (int i = 1; i < 6; ++i) {  // others, one after the other
        const int other = choice.choose(prompt_of(0, 40, i));
        choice.ended(other, prompt_of(0, 40, i));
    }
    for (int i = 0; i < 20; ++i) conversation.push_back(8000 + i);
    EXPECT_EQ(choice.choose(conversation), first);
}

TEST(ReplicaChoice, TakesTurnsWhileIdle) {
    ReplicaChoice choice(3);
    std::vector<int> chosen;
    for (int i = 0; i < 6; ++i) {
        chosen.push_back(choice.choose(prompt_of(0, 40, i)));
        choice.ended(chosen.back());
    }
    EXPECT_EQ(chosen, (std::vector{0, 1, 2, 0, 1, 2}));
}

TEST(ReplicaChoice, ExcludesAFailedReplica) {
    ReplicaChoice choice(3);
    given_up(choice, &ReplicaChoice::exclude);
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
    // Replica 0 gets something to do, so that a prompt that it is not known to have goes to replica 1.
    EXPECT_NE(choice.choose(prompt_of(0, 40, 1)), choice.choose(prompt_of(0, 40, 2)));
    choice.ended(1);
    EXPECT_EQ(choice.choose(mine), 1);
}

}  // namespace
}  // namespace voltpile::llm::replica_choice_test
