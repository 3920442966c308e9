#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"
#include "base/process.h"
#include "base/seconds_since.h"

using namespace voltpile;
using namespace std::chrono_literals;

namespace {

ProcessResult shell(const std::string& script, std::chrono::milliseconds timeout = 20s) {
    return run_process({{"sh", "-c", script}, "", {}, timeout});
}

}  // namespace

TEST(Process, CapturesOutputAndExitCode) {
    const ProcessResult result = shell("echo out; echo err >&2; exit 7");
    EXPECT_EQ(result.exit_code, 7);
    EXPECT_EQ(result.out, "out\n");
    EXPECT_EQ(result.err, "err\n");
    EXPECT_FALSE(result.timed_out);
    EXPECT_FALSE(result.succeeded());
    EXPECT_TRUE(shell("true").succeeded());
    EXPECT_EQ(shell("kill -9 $$").exit_code, 128 + 9);
}

TEST(Process, PassesInputAndOutputLargerThanPipes) {
    const std::string megabytes(5 << 20, 'x');
    const ProcessResult result = run_process({{"cat"}, megabytes, {}, 20s});
    EXPECT_EQ(result.out.size(), megabytes.size());
    EXPECT_EQ(result.out, megabytes);
}

TEST(Process, ChangesTheEnvironment) {
    setenv("VOLTPILE_TEST_A", "old", 1);
    setenv("VOLTPILE_TEST_B", "kept", 1);
    const ProcessResult result = run_process(
        {{"sh", "-c", "echo $VOLTPILE_TEST_A $VOLTPILE_TEST_B"}, "", {{"VOLTPILE_TEST_A", "new"}}, 20s});
    EXPECT_EQ(result.out, "new kept\n");
}

TEST(Process, KillsProcessAtTimeout) {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult result = shell("trap '' TERM; echo begun; while :; do sleep 0.1; done", 300ms);
    EXPECT_TRUE(result.timed_out);
    EXPECT_FALSE(result.succeeded());
    EXPECT_EQ(result.exit_code, 128 + 9);
    EXPECT_EQ(result.out, "begun\n");
    EXPECT_LT(seconds_since(begin), 15);  // 0.3 s, 2 s until SIGKILL, and slack for busy machines
}

TEST(Process, EndsAProgramThatPrintsWithoutEnd) {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult result = shell("exec yes", 60s);
    EXPECT_TRUE(result.flooded);
    EXPECT_FALSE(result.timed_out);
    EXPECT_FALSE(result.succeeded());
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "it was ended because it printed more than 64 MiB");
    EXPECT_LT(seconds_since(begin), 30);  // printing as much takes a fraction of a second
}

TEST(Process, DoesNotWaitForOrphansHoldingOutput) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(shell("sleep 40 & echo done").out, "done\n");
    EXPECT_LT(seconds_since(begin), 20);
}

TEST(Process, RunsSeveralConcurrently) {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessRequest request{{"sleep", "3"}, "", {}, 30s};
    Process a(request), b(request), c(request);
    EXPECT_TRUE(a.wait().succeeded());
    EXPECT_TRUE(b.wait().succeeded());
    EXPECT_TRUE(c.wait().succeeded());
    EXPECT_LT(seconds_since(begin), 8.5);  // sequentially it would take 9 s
}

TEST(Process, NamesMissingProgram) {
    try {
        run_process({{"no-such-program-anywhere"}, "", {}, 1s});
        FAIL() << "started";
    } catch (const MachineError& error) {
        EXPECT_STREQ(error.what(), "cannot start no-such-program-anywhere: No such file or directory");
    }
    EXPECT_FALSE(find_program("no-such-program-anywhere"));
    ASSERT_TRUE(find_program("sh"));
    EXPECT_EQ(find_program("sh")->filename(), "sh");
}
