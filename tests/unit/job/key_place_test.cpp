#include "job/key_place.h"

#include <gtest/gtest.h>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

TEST(KeyPlace, NamesTheLineOfTheKeyOrOfItsTable) {
    const JobSpec job = parse_bowl("app = \"bowl\"\n[bowl]\ndepth = 2.5\n[roll]\n\nrounds = 10\n");
    EXPECT_EQ(place_of_key(job, "roll.rounds"), "b.toml:6");
    EXPECT_EQ(place_of_key(job, "roll.mode"), "b.toml:4");
    EXPECT_EQ(place_of_key(job, "rim.depth"), "b.toml");
}

TEST(KeyPlace, NamesTheLastOverride) {
    const JobSpec job = parse_bowl(bowl_job, {"roll.rounds=3", "bowl.depth=1", "roll.rounds=4"});
    EXPECT_EQ(place_of_key(job, "roll.rounds"), "--set roll.rounds=4");
    EXPECT_EQ(place_of_key(job, "roll.noisy"), "b.toml:4");
}

}  // namespace
}  // namespace voltpile::testing
