#include "machine/disk_check.h"

#include <gtest/gtest.h>

using namespace voltpile;

TEST(DiskCheck, RoomEnough) {
    EXPECT_TRUE(check_disk("/tmp", 1).empty());
}

TEST(DiskCheck, TooLittleSpace) {
    const auto findings = check_disk("/tmp", 1e30);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].health, Health::Degraded);
    EXPECT_TRUE(findings[0].text.starts_with("/tmp has ")) << findings[0].text;
    EXPECT_TRUE(findings[0].text.ends_with(" left")) << findings[0].text;
}

TEST(DiskCheck, FolderThatIsNotThere) {
    const auto findings = check_disk("/nowhere/results", 1);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].health, Health::Bad);
    EXPECT_EQ(findings[0].text, "/nowhere/results: No such file or directory");
}

TEST(DiskCheck, EachFileSystemOnce) {
    const auto findings = check_disks({"/nowhere", "/proc", "/proc/self"});  // /proc has no space of its own
    int absent = 0, full = 0;
    for (const NodeFinding& finding : findings) {
        absent += finding.text.starts_with("/nowhere:");
        full += finding.text.starts_with("/proc");
    }
    EXPECT_EQ(absent, 1);
    EXPECT_LE(full, 1);
}
