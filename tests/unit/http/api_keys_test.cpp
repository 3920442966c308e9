#include "http/api_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"

namespace voltpile::http {
namespace {

std::string written(const std::string& text) {
    std::string path = testing::TempDir() + "keys-" + std::to_string(getpid());
    std::ofstream(path) << text;
    return path;
}

TEST(ApiKeys, FindsEachKeyAndNothingElse) {
    const ApiKeys keys({{"alpha"}, {"beta"}, {"gamma"}});
    EXPECT_EQ(keys.find("alpha"), 0U);
    EXPECT_EQ(keys.find("gamma"), 2U);
    for (const char* wrong : {"", "alph", "alphaa", "Alpha", "delta"})
        EXPECT_FALSE(keys.find(wrong)) << wrong;
    EXPECT_FALSE(ApiKeys().find(""));
}

TEST(ApiKeys, ReadsAFileWithOneKeyALine) {
    const ApiKeys keys = ApiKeys::from_file(written("# for the lab\nalpha\r\n\nbeta\n"));
    EXPECT_EQ(keys.size(), 2U);
    EXPECT_EQ(keys.find("beta"), 1U);
}

TEST(ApiKeys, ReadsNames) {
    const ApiKeys keys = ApiKeys::from_file(written("alpha\n beta\t  lab \n"));
    EXPECT_EQ(keys.size(), 2U);
    EXPECT_EQ(keys.name(*keys.find("alpha")), "key 1");
    EXPECT_EQ(keys.name(*keys.find("beta")), "lab");
    for (const char* wrong : {"alpha lab x\n", "alpha\nalpha lab\n", "\xC3\xA9\n", "alpha \xC3\xA9\n"})
        EXPECT_THROW(ApiKeys::from_file(written(wrong)), JobError) << wrong;
}

TEST(ApiKeys, ReadsWeights) {
    const ApiKeys keys = ApiKeys::from_file(
        written("alpha\nbeta lab weight=2.5\ngamma weight=0.001\ndelta weight=1000 big\n"));
    EXPECT_EQ(keys.weight(*keys.find("alpha")), 1);
    EXPECT_EQ(keys.weight(*keys.find("beta")), 2.5);
    EXPECT_EQ(keys.name(1), "lab");
    EXPECT_EQ(keys.weight(2), 0.001);
    EXPECT_EQ(keys.name(2), "key 3");
    EXPECT_EQ(keys.weight(3), 1000);
    EXPECT_EQ(keys.name(3), "big");
    for (const char* wrong :
         {"a weight=0\n", "a weight=-1\n", "a weight=nan\n", "a weight=\n", "a weight=2x\n",
          "a weight=1001\n", "a weight=1 weight=1\n", "a lab weight=1 x\n"})
        EXPECT_THROW(ApiKeys::from_file(written(wrong)), JobError) << wrong;
}

TEST(ApiKeys, NamesUnusableFiles) {
    EXPECT_THROW(ApiKeys::from_file("/nowhere/keys"), FileError);
    EXPECT_THROW(ApiKeys::from_file("/tmp"), FileError);
    EXPECT_THROW(ApiKeys::from_file(written("# nothing\n")), JobError);
    try {
        ApiKeys::from_file(written("good\nthree words here\n"));
        FAIL();
    } catch (const JobError& error) {
        EXPECT_NE(std::string(error.what()).find(":2: "), std::string::npos) << error.what();
    }
}

TEST(ApiKeys, ReadsTheAuthorizationHeader) {
    EXPECT_EQ(bearer_key("Bearer abc"), "abc");
    EXPECT_EQ(bearer_key("bearer  abc"), "abc");
    for (const char* none : {"", "Bearer", "Bearer ", "Basic abc", "abc"})
        EXPECT_EQ(bearer_key(none), "") << none;
}

}  // namespace
}  // namespace voltpile::http
