#include <gtest/gtest.h>

#include "cluster/slurm/queue.h"
#include "cluster/status.h"

#include <chrono>

using namespace voltpile;

namespace {

// Output of squeue 22.05.8 with our formats.
const std::string jobs_output =
    "7\x1fmap\x1flow\x1fRUNNING\x1fNone\x1fnode[1-3]\x1f"
    "3\x1f"
    "15:02\x1f"
    "1-00:00:00\x1f"
    "23:44:58\x1f"
    "2026-11-20T15:10:53\x1fvoltpile /data/my map.h5\n"
    "9_[1-3]\x1flong name, with | and =\x1fmain\x1fPENDING\x1fPriority\x1f\x1f"
    "2\x1f"
    "0:00\x1fUNLIMITED\x1fUNLIMITED\x1fN/A"
    "\x1fvoltpile /data/b.h5\n"
    "12\x1fother\x1fmain\x1f"
    "FAILED\x1fNonZeroExitCode\x1fnode1\x1f"
    "1\x1f"
    "0:03\x1f"
    "1:00\x1f"
    "0:57\x1fN/A\x1f(null)\n";

std::string padded(const std::string& id, int restarts) {
    std::string line = id;
    line.resize(64, ' ');
    line += std::to_string(restarts);
    line.resize(80, ' ');
    return line + "\n";
}

std::vector<QueuedJob> queue() {
    return parse_queue(jobs_output, padded("7", 2) + padded("9_[1-3]", 0) + padded("12", 0));
}

ResultProgress half_done() {
    ResultProgress progress;
    progress.result = "/data/my map.h5";
    progress.points = 4000;
    progress.points_done = 1000;
    progress.points_per_s = 100;
    progress.last_commit_age_s = 2;
    return progress;
}

}  // namespace

TEST(SlurmStatus, ReadsTheQueue) {
    const auto jobs = queue();
    ASSERT_EQ(jobs.size(), 3u);
    EXPECT_EQ(jobs[0].id, "7");
    EXPECT_EQ(jobs[0].nodes, "node[1-3]");
    EXPECT_EQ(jobs[0].reason, "");
    EXPECT_EQ(jobs[0].restarts, 2);
    EXPECT_EQ(jobs[0].result, "/data/my map.h5");
    EXPECT_EQ(jobs[0].time_left, "23:44:58");
    EXPECT_TRUE(jobs[0].running());
    EXPECT_EQ(jobs[1].id, "9_[1-3]");
    EXPECT_EQ(jobs[1].name, "long name, with | and =");
    EXPECT_EQ(jobs[1].nodes, "2");
    EXPECT_TRUE(jobs[1].waiting());
    EXPECT_TRUE(jobs[2].result.empty());
    EXPECT_TRUE(parse_queue("", "").empty());
}

TEST(SlurmStatus, EstimatesTimeLeftFromRecentRate) {
    ResultProgress progress = half_done();
    EXPECT_DOUBLE_EQ(progress.seconds_left().value(), 3000 / 100.0);
    progress.last_commit_age_s = 3600;  // no progress
    EXPECT_FALSE(progress.seconds_left());
    progress = half_done();
    progress.points_per_s.reset();
    EXPECT_FALSE(progress.seconds_left());
    progress = half_done();
    progress.complete = true;
    EXPECT_FALSE(progress.seconds_left());
}

TEST(SlurmStatus, PrintsOneLinePerJob) {
    const auto jobs = queue();
    const std::string table = status_table({{jobs[0], half_done()}, {jobs[1], std::nullopt}}, {});
    EXPECT_EQ(table,
              "job      name                     state    reason    nodes      time                 restarts "
              " done    "
              "points          left\n"
              "7        map                      RUNNING            node[1-3]  15:02 of 1-00:00:00  2        "
              " 25.0 %  "
              "1,000 of 4,000  30 s\n"
              "9_[1-3]  long name, with | and =  PENDING  Priority  2          of UNLIMITED         0\n");
    EXPECT_EQ(status_table({}, {}), "no jobs of voltpile in the queue\n");
}

TEST(SlurmStatus, ColorsOnlyOnRequest) {
    const std::vector<JobStatus> jobs{{queue()[0], half_done()}};
    EXPECT_EQ(status_table(jobs, {false}).find('\x1b'), std::string::npos);
    EXPECT_NE(status_table(jobs, {true}).find('\x1b'), std::string::npos);
    EXPECT_EQ(job_status_text(jobs, {false}).find('\x1b'), std::string::npos);
}

TEST(SlurmStatus, DescribesOneJob) {
    EXPECT_EQ(job_status_text({{queue()[0], half_done()}}, {}),
              "job 7 map\n"
              "  state      RUNNING: on node[1-3] (low)\n"
              "  time       15:02 of 1-00:00:00, 23:44:58 left\n"
              "  life       3 (2 restarts)\n"
              "  result     /data/my map.h5\n"
              "  progress   [#####...............] 25.0 %: 1,000 of 4,000 points; at 100 points/s 30 s left\n"
              "  commit     2.00 s ago\n");
}

TEST(SlurmStatus, NeverPrintsHundredPercentEarly) {
    ResultProgress progress = half_done();
    progress.points_done = 4000;  // all parts exist, not yet consolidated
    EXPECT_NE(status_table({{queue()[0], progress}}, {}).find("99.9 %"), std::string::npos);
    progress.complete = true;
    EXPECT_NE(status_table({{queue()[0], progress}}, {}).find("100.0 %"), std::string::npos);
}

TEST(SlurmStatus, DescribesAServer) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    ServerStatus server{"http://node1:8000",
                        "node1",
                        17,
                        false,
                        3,
                        2,
                        118.4,
                        1204,
                        std::chrono::duration_cast<std::chrono::seconds>(now).count()};
    const JobStatus job{queue()[0], std::nullopt, server};
    EXPECT_NE(status_table({job}, {}).find(
                  "job 7 serves at http://node1:8000: 3 running, 2 waiting, 118 tokens/s\n"),
              std::string::npos);
    EXPECT_EQ(job_status_text({job}, {}),
              "job 7 map\n"
              "  state      RUNNING: on node[1-3] (low)\n"
              "  time       15:02 of 1-00:00:00, 23:44:58 left\n"
              "  life       3 (2 restarts)\n"
              "  address    http://node1:8000\n"
              "  load       3 running, 2 waiting, 118 tokens/s\n"
              "  answered   1,204 requests\n"
              "  host       node1, process 17\n"
              "  file       /data/my map.h5\n");
    server.draining = true;
    EXPECT_NE(server_text("lab.address", server).find("load       stopping: 3 running"), std::string::npos);
    server.unix_time -= 4 * 3600;
    EXPECT_NE(server_text("lab.address", server).find("no news for 4 h 00 min"), std::string::npos);
}
