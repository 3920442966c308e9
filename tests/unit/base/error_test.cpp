#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

using namespace voltpile;

TEST(Error, HasTheDocumentedExitCodes) {
    EXPECT_EQ(static_cast<int>(ExitCode::Done), 0);
    EXPECT_EQ(static_cast<int>(ExitCode::BadInput), 2);
    EXPECT_EQ(static_cast<int>(ExitCode::CannotRun), 3);
    EXPECT_EQ(static_cast<int>(ExitCode::Failed), 4);
    EXPECT_EQ(static_cast<int>(ExitCode::Stopped), 5);
}

TEST(Error, KnowsTheExitCodeOfEachType) {
    EXPECT_EQ(JobError("x").exit_code(), ExitCode::BadInput);
    EXPECT_EQ(MachineError("x").exit_code(), ExitCode::CannotRun);
    EXPECT_EQ(DeviceError("x").exit_code(), ExitCode::Failed);
    EXPECT_EQ(CommError("x").exit_code(), ExitCode::Failed);
}

TEST(Error, NamesActionPathAndReasonOfFileErrors) {
    EXPECT_STREQ(FileError("write", "a/b.h5", ENOSPC).what(), "cannot write a/b.h5: No space left on device");
}

TEST(Error, ListsAllProblemsOfJobErrors) {
    EXPECT_STREQ(JobError(std::vector<std::string>{"a.toml:1: x", "a.toml:2: y"}).what(),
                 "a.toml:1: x\na.toml:2: y");
}
