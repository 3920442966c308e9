// Fair shares between the owners of requests: the bounds that Sheng et al. (OSDI 2024) prove for counters of
// tokens, over random loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "llm/engine/scheduler.h"

namespace voltpile::llm {
namespace {

constexpr int sequences = 6;
constexpr int longest = 120;  // tokens of a prompt, and of an answer

SchedulerSettings settings_of_fairness() {
    SchedulerSettings settings;
    settings.limits = {.rows = 256, .sequences = sequences, .pages_per_sequence = 64, .logits = sequences};
    settings.pages = 1000;
    settings.context = 2 * longest;
    settings.sequences = sequences;
    return settings;
}

class Shares {
  public:
    explicit Shares(unsigned seed) : random_(seed), scheduler_(settings_of_fairness()) {}

    void add(int owner, double weight, int prompt, int answer) {
        Request request;
        request.id = next_++;
        request.owner = owner;
        request.weight = weight;
        request.max_tokens = answer;
        for (int i = 0; i < prompt; ++i) request.prompt.push_back(between(1, 1000));
        waiting_[owner].push_back(request.id);
        requests_[request.id] = {owner, prompt};
        scheduler_.add(std::move(request));
    }
    void add_many(int owner, double weight, int count) {
        for (int i = 0; i < count; ++i) add(owner, weight, between(1, longest), between(1, longest));
    }

    // Runs one pass. Checks that each owner's requests are admitted in the order of arrival.
    void step() {
        const auto pass = scheduler_.plan();
        for (const std::int64_t id : scheduler_.take_admitted()) {
            const auto [owner, prompt] = requests_[id];
            ASSERT_EQ(id, waiting_[owner].front());
            waiting_[owner].erase(waiting_[owner].begin());
            served_[owner] += prompt;
            order_.push_back(id);
        }
        ASSERT_TRUE(pass);
        const std::vector<DrawnToken> drawn(pass->draws.size(), DrawnToken{1, 0});
        for (const Progress& progress : scheduler_.complete(drawn)) ++served_[requests_[progress.id].first];
    }
    bool both_wait() const { return !waiting_.at(0).empty() && !waiting_.at(1).empty(); }
    bool done() const { return scheduler_.idle(); }
    double served(int owner) { return served_[owner]; }  // tokens
    const std::vector<std::int64_t>& order() const { return order_; }

  private:
    int between(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

    std::mt19937 random_;
    Scheduler scheduler_;
    std::int64_t next_ = 0;
    std::map<int, std::vector<std::int64_t>> waiting_;      // by owner
    std::map<std::int64_t, std::pair<int, int>> requests_;  // owner, tokens of the prompt
    std::map<int, double> served_;
    std::vector<std::int64_t> order_;
};

// U of waiting_line.h: what running sequences can draw exceeds the longest prompt here.
double bound(double least_weight) {
    return sequences * longest / least_weight;
}

TEST(FairShares, FollowTheWeightsWhileBothWait) {
    for (const double weight : {1.0, 3.0, 0.25}) {
        Shares shares(static_cast<unsigned>(100 * weight));
        shares.add_many(0, 1, 300);  // all of one owner before the other
        shares.add_many(1, weight, 300);
        double steps = 0;
        while (shares.both_wait()) {
            shares.step();
            // Theorem 4.4: services of two owners that both wait differ by at most 2 U over any period.
            ASSERT_LE(std::abs(shares.served(0) - shares.served(1) / weight),
                      2 * bound(std::min(1.0, weight)));
            ++steps;
        }
        EXPECT_GT(steps, 500);
        EXPECT_GT(shares.served(0) + shares.served(1), 20 * bound(1));
    }
}

TEST(FairShares, APauseEarnsNothing) {
    Shares shares(1);
    shares.add_many(0, 1, 400);
    shares.add(1, 1, 1, 1);  // is served at once and pauses
    for (int i = 0; i < 2000; ++i) shares.step();
    ASSERT_GT(shares.served(0), 10 * bound(1));
    const double before[]{shares.served(0), shares.served(1)};
    shares.add_many(1, 1, 200);
    while (shares.both_wait()) {
        shares.step();
        ASSERT_LE(std::abs(shares.served(0) - before[0] - (shares.served(1) - before[1])), 2 * bound(1));
    }
    EXPECT_GT(shares.served(1) - before[1], 4 * bound(1));
}

TEST(FairShares, OneOwnerIsServedInTheOrderOfArrival) {
    Shares shares(2);
    shares.add_many(0, 1, 60);
    while (!shares.done()) shares.step();
    EXPECT_EQ(shares.order().size(), 60U);
    EXPECT_TRUE(std::ranges::is_sorted(shares.order()));
}

TEST(FairShares, ANewOwnerDoesNotWaitBehindAQueue) {
    Shares shares(3);
    shares.add_many(0, 1, 100);
    shares.step();
    shares.add(1, 1, 5, 5);  // request 100
    while (shares.order().back() != 100) {
        ASSERT_LE(shares.order().size(), 40U);
        shares.step();
    }
}

}  // namespace
}  // namespace voltpile::llm
