#include "run/same_build.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "unit/base/temporary_folder.h"

using namespace voltpile;

namespace {

class File {
  public:
    explicit File(const std::string& bytes) { std::ofstream(path) << bytes; }

  private:
    test::TemporaryFolder folder_;

  public:
    const std::string path = folder_.path() / "file";
};

}  // namespace

// From the reference implementation's test values: XXH3_64bits of empty input with seed 0.
TEST(SameBuild, ChecksumIsXxh3) {
    EXPECT_EQ(file_checksum(File("").path), "2d06800538d394c2");
    const std::string small = file_checksum(File("voltpile").path);
    EXPECT_EQ(small.size(), 16u);
    EXPECT_NE(small, file_checksum(File("voltpilf").path));
    // Longer than a block, and different only in its last byte.
    const std::string large(3'000'000, 'x');
    EXPECT_NE(file_checksum(File(large + "a").path), file_checksum(File(large + "b").path));
    EXPECT_THROW(file_checksum("/nonexistent"), FileError);
}

TEST(SameBuild, IdentifiesThisProgram) {
    const BuildIdentity build = this_build();
    EXPECT_FALSE(build.host.empty());
    EXPECT_EQ(build.checksum, file_checksum("/proc/self/exe"));
}

TEST(SameBuild, NamesTheHostsOfEachBuild) {
    const BuildIdentity one{"node1", "0.1.0", "aaa", "1111"}, two{"node2", "0.1.0", "aaa", "1111"},
        other{"node3", "0.1.0", "aaa", "2222"};
    EXPECT_EQ(mismatch_text({one, one, two}), "");
    EXPECT_EQ(mismatch_text({two, one, other, other}),
              "the nodes do not all have the same program:\n"
              "  node1, node2: voltpile 0.1.0 (git aaa, checksum 1111)\n"
              "  node3: voltpile 0.1.0 (git aaa, checksum 2222)\n"
              "copy one build to all of them, or keep it in a shared folder");
}
