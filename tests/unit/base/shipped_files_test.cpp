#include "base/shipped_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// A folder with two jobs of different names, and two of the same name.
class ShippedFiles : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = fs::temp_directory_path() / "voltpile-shipped-XXXXXX";
        ASSERT_TRUE(mkdtemp(name.data()));
        top_ = name;
        for (const char* path :
             {"jobs/a/map.toml", "jobs/b/orbit.toml", "jobs/a/twice.toml", "jobs/b/twice.toml"}) {
            fs::create_directories((top_ / path).parent_path());
            std::ofstream(top_ / path) << "app = \"x\"\n";
        }
    }
    void TearDown() override { fs::remove_all(top_); }

    std::string find(const std::string& name) const { return find_shipped(name, "jobs", top_); }

    fs::path top_;
};

TEST_F(ShippedFiles, FindsByPathFromTheTop) {
    EXPECT_EQ(find("jobs/a/map.toml"), top_ / "jobs/a/map.toml");
    EXPECT_EQ(find_shipped("jobs/a/map.toml", "", top_), top_ / "jobs/a/map.toml");
}

TEST_F(ShippedFiles, FindsByPathInTheFolderWithOrWithoutExtension) {
    EXPECT_EQ(find("b/orbit.toml"), top_ / "jobs/b/orbit.toml");
    EXPECT_EQ(find("b/orbit"), top_ / "jobs/b/orbit.toml");
}

TEST_F(ShippedFiles, FindsByName) {
    EXPECT_EQ(find("orbit"), top_ / "jobs/b/orbit.toml");
    EXPECT_EQ(find("orbit.toml"), top_ / "jobs/b/orbit.toml");
}

TEST_F(ShippedFiles, ReturnsOtherNamesUnchanged) {
    for (const char* name : {"", "nothing", "a/nothing", "/jobs/a/map.toml", ".", "/dev/null"})
        EXPECT_EQ(find(name), name);
    EXPECT_EQ(find_shipped("orbit", "", top_), "orbit");
    EXPECT_EQ(find_shipped("orbit", "jobs", {}), "orbit");
}

TEST_F(ShippedFiles, RejectsANameOfSeveralFiles) {
    EXPECT_THROW(find("twice"), JobError);
    EXPECT_EQ(find("a/twice"), top_ / "jobs/a/twice.toml");
}

TEST_F(ShippedFiles, BelongToTheSourceTreeOfABuildFolderElsewhere) {
    fs::create_directories(top_ / "source/jobs");
    fs::create_directories(top_ / "source/data/clusters");
    const fs::path build = top_ / "elsewhere/deep/build";
    fs::create_directories(build);
    EXPECT_EQ(shipped_folder_of(build), "");
    std::ofstream(build / "CMakeCache.txt")
        << "CMAKE_COMMAND:INTERNAL=/usr/bin/cmake\nCMAKE_HOME_DIRECTORY:INTERNAL="
        << (top_ / "source").string() << "\n";
    EXPECT_EQ(shipped_folder_of(build), top_ / "source");
    EXPECT_EQ(shipped_folder_of(top_ / "source/build"), top_ / "source");
}

}  // namespace
}  // namespace voltpile
