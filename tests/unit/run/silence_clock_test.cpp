#include "run/silence_clock.h"

#include <gtest/gtest.h>

using voltpile::SilenceClock;

namespace {

constexpr double kPatience = 10;

// Looks every second from `begin` to `end`, with rank 1 heard each time. Returns the silent rank.
std::optional<int> look(SilenceClock& clock, int begin, int end) {
    for (int second = begin; second <= end; ++second) {
        clock.heard(1, second);
        if (const auto rank = clock.silent(second)) return rank;
    }
    return std::nullopt;
}

}  // namespace

TEST(SilenceClock, NamesTheRankThatIsSilentForTooLong) {
    SilenceClock clock(3, kPatience);
    clock.heard(1, 0);
    clock.heard(2, 0);
    EXPECT_EQ(look(clock, 1, 10), std::nullopt);
    EXPECT_EQ(look(clock, 11, 11), 2);
}

TEST(SilenceClock, IgnoresRanksThatItNeverHeardOrForgot) {
    SilenceClock clock(3, kPatience);
    clock.heard(2, 0);
    clock.forget(2);
    EXPECT_EQ(look(clock, 1, 100), std::nullopt);
}

TEST(SilenceClock, RestartsAfterThisProcessWasSuspended) {
    SilenceClock clock(3, kPatience);
    clock.heard(2, 0);
    EXPECT_EQ(look(clock, 1, 5), std::nullopt);
    EXPECT_EQ(look(clock, 65, 75), std::nullopt);
    EXPECT_EQ(look(clock, 76, 76), 2);
}
