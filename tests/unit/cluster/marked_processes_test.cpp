#include "cluster/supervisor/marked_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/line_process.h"
#include "results/parts/life.h"

using namespace voltpile;
using namespace std::chrono_literals;

namespace {

std::size_t count_soon(const std::string& mark, std::size_t wanted) {
    std::size_t count = 0;
    for (int i = 0; i < 500; ++i) {
        count = find_marked(mark).size();
        if (count == wanted) break;
        std::this_thread::sleep_for(10ms);
    }
    return count;
}

}  // namespace

TEST(MarkedProcesses, FindsWholeTreesByEnvironmentAndByCommandLine) {
    const std::string mark = random_nonce();
    LineProcess tree({"sh", "-c", "sleep 100 & sleep 100 & wait"}, {{kLaunchMark, mark}});
    LineProcess daemon({"sh", "-c", "sleep 100; true", "--launch", mark});
    LineProcess other({"sleep", "100"}, {{kLaunchMark, random_nonce()}});
    EXPECT_EQ(count_soon(mark, 4), 4U);  // sh and two sleeps, and a shell whose command line has the mark
    EXPECT_TRUE(end_marked(mark, 1s).empty());
    EXPECT_TRUE(find_marked(mark).empty());
    std::array<LineProcess*, 1> processes{&other};
    LineProcess::pump(processes, 10ms);
    EXPECT_TRUE(other.running());
}

TEST(MarkedProcesses, KillsWhatLeftItsSessionAndIgnoresSigterm) {
    const std::string mark = random_nonce();
    LineProcess tree(
        {"sh", "-c", "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & wait"},
        {{kLaunchMark, mark}});
    ASSERT_GE(count_soon(mark, 3), 2U);
    EXPECT_TRUE(end_marked(mark, 100ms).empty());
    EXPECT_TRUE(find_marked(mark).empty());
}
