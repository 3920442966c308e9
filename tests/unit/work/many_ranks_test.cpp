// Hands out a sweep to 4,096 simulated ranks, with their messages as bytes: what rank 0 does for them must
// leave most of its core free.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "work/dispatch.h"

namespace voltpile {
namespace {

double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each rank computes 100 points per second and reports every 0.25 s, so that a range takes it 2 s.
TEST(ManyRanks, GetEveryPointOnceAndSeldomKeepRankZeroBusy) {
    constexpr int ranks = 4096;
    constexpr std::int64_t points = ranks * 100 * 20;  // 20 s of work
    constexpr double step_s = 0.25;
    DispatchServer server({0, points}, {}, std::vector<double>(ranks, 100.0), {2.0, 0});
    std::vector<std::unique_ptr<WorkScheduler>> work;
    std::vector<std::unique_ptr<DispatchClient>> clients;
    std::vector<WorkRange> current(ranks);
    for (int r = 0; r < ranks; ++r) {
        work.push_back(std::make_unique<WorkScheduler>());
        clients.push_back(std::make_unique<DispatchClient>(*work.back(), 1));
    }
    RangeSet handed_out;
    double now_s = 0, busy_s = 0;
    std::size_t reports = 0;
    for (; !server.all_finished() && now_s < 200; now_s += step_s) {
        std::vector<std::pair<int, std::string>> messages;
        for (int r = 0; r < ranks; ++r) {
            const auto i = static_cast<std::size_t>(r);
            for (double left = 100 * step_s; left > 0;) {
                if (current[i].empty()) {
                    const auto next = work[i]->try_next();
                    if (!next) break;
                    EXPECT_FALSE(handed_out.overlaps(*next));
                    handed_out.insert(*next);
                    work[i]->committed(*next);
                    current[i] = *next;
                }
                const auto done =
                    std::min<std::int64_t>(current[i].size(), static_cast<std::int64_t>(left) + 1);
                current[i].begin += done;
                left -= static_cast<double>(done);
            }
            const bool finished = work[i]->exhausted() && current[i].empty();
            if (auto report = clients[i]->report(now_s, false, finished))
                messages.emplace_back(r, report->to_bytes());
        }
        reports += messages.size();
        std::vector<std::pair<int, std::string>> replies;
        const double before = cpu_seconds();
        for (const auto& [from, bytes] : messages) server.receive(from, RankReport::from_bytes(bytes), now_s);
        for (const auto& [to, grant] : server.take_replies()) replies.emplace_back(to, grant.to_bytes());
        busy_s += cpu_seconds() - before;
        for (const auto& [to, bytes] : replies)
            clients[static_cast<std::size_t>(to)]->receive(RankGrant::from_bytes(bytes));
    }
    EXPECT_TRUE(server.all_finished());
    EXPECT_TRUE(server.complete());
    EXPECT_EQ(handed_out.size(), points);
    std::printf("%zu reports in %.0f simulated seconds take rank 0 %.2f s\n", reports, now_s, busy_s);
    EXPECT_LT(busy_s, now_s / 2);  // CPU time, which other programs on the machine do not change
}

}  // namespace
}  // namespace voltpile
