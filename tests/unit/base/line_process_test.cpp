#include "base/line_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <thread>

using namespace voltpile;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

template <class Condition>
bool pump_until(LineProcess& process, const Condition& condition) {
    const std::array<LineProcess*, 1> one{&process};
    for (const auto until = Clock::now() + 10s; Clock::now() < until;) {
        if (condition()) return true;
        LineProcess::pump(one, 100ms);
    }
    return false;
}

bool alive(pid_t pid) {
    return kill(pid, 0) == 0;
}

}  // namespace

TEST(LineProcess, ExchangesLines) {
    LineProcess cat({"cat"});
    cat.send("one");
    cat.send("two");
    ASSERT_TRUE(pump_until(cat, [&] { return cat.lines.size() == 2; }));
    EXPECT_EQ(cat.lines[0], "one");
    EXPECT_EQ(cat.lines[1], "two");
    EXPECT_TRUE(cat.running());
    cat.close_input();
    ASSERT_TRUE(pump_until(cat, [&] { return !cat.running(); }));
    EXPECT_EQ(cat.exit_code(), 0);
}

// Sends more than a pipe holds to a program that reads later.
TEST(LineProcess, SendNeverBlocks) {
    LineProcess slow({"sh", "-c", "sleep 0.3; wc -c"});
    const auto begin = Clock::now();
    for (int i = 0; i < 1000; ++i) slow.send(std::string(999, 'x'));
    slow.close_input();
    EXPECT_LT(Clock::now() - begin, 250ms);
    ASSERT_TRUE(pump_until(slow, [&] { return !slow.lines.empty(); }));
    EXPECT_EQ(std::stoi(slow.lines[0]), 1'000'000);
}

TEST(LineProcess, ReportsExitCodeAndStderr) {
    LineProcess failing({"sh", "-c", "echo oh >&2; exit 7"});
    ASSERT_TRUE(pump_until(failing, [&] { return !failing.running(); }));
    EXPECT_EQ(failing.exit_code(), 7);
    EXPECT_EQ(failing.errors, "oh\n");
    LineProcess killed({"sh", "-c", "kill -9 $$"});
    ASSERT_TRUE(pump_until(killed, [&] { return !killed.running(); }));
    EXPECT_EQ(killed.exit_code(), 128 + 9);
    LineProcess missing({"/nonexistent/program"});
    ASSERT_TRUE(pump_until(missing, [&] { return !missing.running(); }));
    EXPECT_EQ(missing.exit_code(), 127);
    EXPECT_EQ(missing.errors, "cannot start /nonexistent/program: No such file or directory\n");
}

TEST(LineProcess, KillsProcessThatIgnoresSigterm) {
    pid_t child = 0, grandchild = 0;
    const auto begin = Clock::now();
    {
        LineProcess deaf({"sh", "-c", "trap '' TERM; sleep 60 & echo $$ $!; while :; do sleep 0.1; done"});
        ASSERT_TRUE(pump_until(deaf, [&] { return !deaf.lines.empty(); }));
        child = std::stoi(deaf.lines[0]);
        grandchild = std::stoi(deaf.lines[0].substr(deaf.lines[0].find(' ')));
        ASSERT_TRUE(alive(child) && alive(grandchild));
    }
    EXPECT_LT(Clock::now() - begin, 5s);
    EXPECT_FALSE(alive(child));
    for (const auto until = Clock::now() + 5s; alive(grandchild) && Clock::now() < until;)
        std::this_thread::sleep_for(10ms);  // until its new parent has reaped it
    EXPECT_FALSE(alive(grandchild));
}

// An ssh in the background holds the pipes open.
TEST(LineProcess, DoesNotWaitForOrphans) {
    LineProcess parent({"sh", "-c", "setsid sleep 3 & echo done"});
    const auto begin = Clock::now();
    ASSERT_TRUE(pump_until(parent, [&] { return !parent.running(); }));
    EXPECT_LT(Clock::now() - begin, 2s);
    EXPECT_EQ(parent.lines.at(0), "done");
}

TEST(LineProcess, StopsWaitingWhenWoken) {
    LineProcess process({"sleep", "600"});
    const std::array<LineProcess*, 1> one{&process};
    const int wake = eventfd(1, EFD_CLOEXEC);
    LineProcess::pump(one, 600s, 600s, wake);
    EXPECT_TRUE(process.running());  // otherwise the wait lasts until it ends
    close(wake);
}

TEST(LineProcess, AddsEnvironment) {
    LineProcess process({"sh", "-c", "echo $ADDED $HOME"}, {{"ADDED", "yes"}});
    ASSERT_TRUE(pump_until(process, [&] { return !process.running(); }));
    EXPECT_EQ(process.lines.at(0), std::string("yes ") + getenv("HOME"));
}
