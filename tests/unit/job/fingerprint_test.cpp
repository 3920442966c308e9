#include "job/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

std::string fingerprint(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return parse_bowl(text, overrides).fingerprint();
}

TEST(Fingerprint, MatchesPublishedTestVector) {
    // XXH3_128bits of no bytes with seed 0, from the xxHash specification's test vectors.
    EXPECT_EQ(hash_128(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Fingerprint, IgnoresSpellingOfTheJob) {
    const auto expected = fingerprint(bowl_job);
    EXPECT_EQ(expected.size(), 32u);
    EXPECT_EQ(fingerprint("# a comment\nroll.rounds = 10\nbowl = {depth = 25e-1}\napp = 'bowl'\n"), expected);
    EXPECT_EQ(fingerprint(bowl_job + "mode = \"exact\"   # the default\n"), expected);
    EXPECT_EQ(fingerprint(bowl_job, {"roll.rounds=10"}), expected);
    // Keys that do not change the result.
    EXPECT_EQ(fingerprint(bowl_job, {"roll.noisy=true", "run.device=cpu", "run.threads=3",
                                     "run.range_seconds=0.1", "run.range_points=17", "run.time_limit_s=5"}),
              expected);
}

TEST(Fingerprint, ChangesWithEverythingThatAffectsResults) {
    std::set<std::string> seen{fingerprint(bowl_job)};
    const auto differs = [&seen](const std::string& text, const std::vector<std::string>& overrides) {
        EXPECT_TRUE(seen.insert(fingerprint(text, overrides)).second) << text << overrides.at(0);
    };
    differs(bowl_job, {"bowl.depth=2.5000000000000004"});  // the next double
    differs(bowl_job, {"roll.rounds=11"});
    differs(bowl_job, {"roll.mode=quick"});
    differs(bowl_job, {"roll.show=['time','path']"});
    differs(bowl_job, {"roll.show=['path','time']"});
    differs(bowl_job, {"bowl.corner[1].x=2"});
    const auto swept = bowl_job + axis("rim.depth", "1", "2", "3", "name = 'a'");
    differs(swept, {"sweep.a.count=3"});
    differs(swept, {"sweep.a.count=4"});
    differs(swept, {"sweep.a.from=0"});
    differs(swept, {"sweep.a.to=3"});
    differs(swept, {"sweep.a.endpoint=true"});
    differs(swept, {"sweep.a.name=b"});
    differs(swept, {"sweep.a.parameter=bowl.depth"});
}

TEST(Fingerprint, ChangesWithNumericsVersion) {
    std::vector<AppSchema> apps{bowl_schema()};
    apps[0].numerics_version = 2;
    EXPECT_NE(parse_job(bowl_job, "b.toml", {}, apps).fingerprint(), fingerprint(bowl_job));
}

}  // namespace
}  // namespace voltpile::testing
