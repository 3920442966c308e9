// Tests that there is one writer only: a predecessor, dead or alive, changes nothing in a result that another
// run has taken over; and who may take over.
#include <signal.h>

#include <barrier>
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "results/open_result.h"
#include "results/parts/life.h"
#include "results/parts/lives_journal.h"
#include "results/parts/part_listing.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;
using IfOther = PartFolder::IfOther;

RunIdentity identity(const std::string& host, int pid, const std::string& batch_job, int restart_count) {
    return {host, pid, batch_job, restart_count};
}

// Everything below a folder, with content and inode.
std::map<std::string, std::string> snapshot(const std::filesystem::path& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        all[entry.path()] = entry.is_regular_file() ? file_text(entry.path()) : "folder";
    return all;
}

class Fence : public testing::Test {
  protected:
    std::unique_ptr<PartFolder> open(const Claim& claim) {
        return std::make_unique<PartFolder>(result, layout, IfOther::Refuse, claim);
    }
    std::string refusal_of(const Claim& claim) {
        const auto [message, code] = error_of([&] { open(claim); });
        EXPECT_EQ(code, ExitCode::CannotRun) << message;
        return message;
    }

    TemporaryFolder folder{memory_path()};
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({50, 20}), {field("steps", FieldType::Int32)});
    Claim take_over{{}, true, identity("node2", 9, "", 0)};
};

TEST_F(Fence, PredecessorChangesNothing) {
    const auto predecessor = open({{}, false, identity("node1", 7, "", 0)});
    commit_part(predecessor->life(), layout, {0, 10}, data_of(layout, {0, 10}));
    Consolidation half_way(predecessor->life(), layout);
    half_way.add({predecessor->path() / "part-000000000000-000000000010.h5", {0, 10}});
    commit_part(predecessor->life(), layout, {10, 1000}, data_of(layout, {10, 1000}));
    half_way.add({predecessor->path() / "part-000000000010-000000001000.h5", {10, 1000}});

    const auto successor = open(take_over);
    const auto before = snapshot(folder.path());
    const std::vector<std::function<void()>> attempts{
        [&] {
            commit_part(predecessor->life(), layout, {20, 30}, data_of(layout, {20, 30}));
        },
        [&] {
            put_part(predecessor->life(), {20, 30}, {});
        },
        [&] { half_way.publish(some_provenance()); },
        [&] { Consolidation(predecessor->life(), layout); },
        [&] { write_manifest(predecessor->life(), layout, false); },
        [&] { write_manifest(predecessor->life(), layout, true); },
        [&] { predecessor->record_life(0); },
        [&] { withdraw_in(predecessor->life(), predecessor->path() / "layout.h5"); },
        [&] { rename_in(predecessor->life(), predecessor->path() / "layout.h5", predecessor->path() / "x"); },
        [&] { predecessor->remove(); },
    };
    for (std::size_t i = 0; i < attempts.size(); ++i) {
        const auto [message, code] = error_of(attempts[i]);
        EXPECT_EQ(code, ExitCode::Failed) << i;
        EXPECT_NE(message.find("another run has taken over " + result.string() + " (life 2, pid 9 on node2)"),
                  std::string::npos)
            << i << ": " << message;
        EXPECT_EQ(snapshot(folder.path()), before) << i;
    }
    commit_part(successor->life(), layout, {20, 30}, data_of(layout, {20, 30}));
}

// All ranks of a run share its life; when it ends, its successor's life must not end.
TEST_F(Fence, PredecessorsEndKeepsTheSuccessor) {
    auto predecessor = open({{}, false, identity("node1", 7, "", 0)});
    const auto successor = open(take_over);
    predecessor.reset();
    commit_part(successor->life(), layout, {0, 10}, data_of(layout, {0, 10}));
    EXPECT_EQ(scan_parts(successor->life(), layout, layout.whole()).completed.size(), 10);
    // The successor has the lock now.
    EXPECT_NE(refusal_of({{}, false, identity("node3", 1, "", 0)}).find("pid 9 on node2"), std::string::npos);
}

TEST_F(Fence, LetsRestartsAndTakeOverIn) {
    const std::string job = "slurm 123";
    const auto predecessor = open({{}, false, identity("node1", 7, job, 1)});
    const std::string refusal = refusal_of({{}, false, identity("node2", 8, job, 1)});
    EXPECT_EQ(refusal, "another run is writing " + result.string() +
                           " (pid 7 on node1, job 123); if that host is out of reach, --take-over");
    refusal_of({{}, false, identity("node2", 8, job, 0)});
    refusal_of({{}, false, identity("node2", 8, "slurm 124", 2)});
    refusal_of({{}, false, identity("node2", 8, "", 2)});
    commit_part(predecessor->life(), layout, {0, 10}, data_of(layout, {0, 10}));  // it is still alive

    const auto again = open({{}, false, identity("node2", 8, job, 2)});
    EXPECT_THROW(commit_part(predecessor->life(), layout, {10, 20}, data_of(layout, {10, 20})),
                 TakenOverError);
    const auto by_hand = open(take_over);
    EXPECT_THROW(commit_part(again->life(), layout, {10, 20}, data_of(layout, {10, 20})), TakenOverError);
    refusal_of({{}, false, identity("node2", 8, job, 3)});  // a run started by hand is not a batch job
}

TEST_F(Fence, GivesEveryLifeANewName) {
    std::string first;
    {
        PartFolder one(result, layout, IfOther::Refuse);
        first = one.life().name;
        one.remove();
    }
    const PartFolder other(result, layout, IfOther::Refuse);
    EXPECT_NE(other.life().name, first);
    EXPECT_EQ(LifeName::parse(first)->number, LifeName::parse(other.life().name)->number);
}

// A successor that dies while it ends its predecessor's life has that life's folder inside its own.
TEST_F(Fence, EndsLivesThatADeadSuccessorLeft) {
    { PartFolder parts(result, layout, IfOther::Refuse); }
    const auto inner = parts_path(result) / "life-1-0000000000000001" / "life-1-0000000000000000";
    std::filesystem::create_directories(inner);
    write_text_file(inner / "part.tmp", "half");
    const auto successor = open({});
    EXPECT_EQ(lives_in(successor->path()), 1u);
    EXPECT_EQ(names_in(successor->life().folder()), std::vector<std::string>{});
}

// Of two runs that may take over at once, one does.
TEST_F(Fence, LetsOneOfTwoSuccessorsContinue) {
    const auto predecessor = open({});
    for (int round = 0; round < 100; ++round) {
        std::barrier together(2);
        std::unique_ptr<PartFolder> successor[2];
        std::string failure[2];
        const auto run = [&](int who) {
            together.arrive_and_wait();
            failure[who] = error_of([&] { successor[who] = open(take_over); }).first;
        };
        std::thread other(run, 1);
        run(0);
        other.join();
        int alive = 0;
        for (int who = 0; who < 2; ++who) {
            if (!successor[who]) {
                EXPECT_NE(failure[who].find("another run has taken over"), std::string::npos) << failure[who];
                continue;
            }
            const WorkRange range{round, round + 1};
            const std::string problem =
                error_of([&] {
                    commit_part(successor[who]->life(), layout, range, data_of(layout, range));
                }).first;
            alive += problem.empty();
            EXPECT_TRUE(problem.empty() || problem.starts_with("another run has taken over")) << problem;
        }
        EXPECT_EQ(alive, 1) << round;
        // The run that is left holds the lock too.
        refusal_of({});
    }
}

// Runs are suspended at any moment of committing, consolidating and publishing, taken over, and continued.
namespace {
// Whether the one life of these parts has begun a commit and not ended it. It may continue meanwhile.
bool in_mid_commit(const std::filesystem::path& parts) {
    try {
        return std::filesystem::exists(parts) && lives_in(parts) == 1 &&
               !std::filesystem::is_empty(life_in(parts).folder());
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

TEST_F(Fence, SuspendedPredecessorChangesNothing) {
    const std::vector<FieldBuffer> data = data_of(layout, {0, 10});
    std::mt19937 random(3);
    int mid_commit = 0;
    for (int round = 0; round < 40 || (mid_commit < 10 && round < 400); ++round) {
        std::filesystem::remove(result);
        std::filesystem::remove_all(parts_path(result));
        const pid_t child = ::fork();
        if (child == 0) {
            const auto [message, code] = error_of([&] {
                PartFolder own(result, layout, IfOther::Refuse);
                for (;;) {
                    for (std::int64_t at = 0; at < 200; at += 10)
                        commit_part(own.life(), layout, {at, at + 10}, data);
                    commit_part(own.life(), layout, {200, 1000}, data_of(layout, {200, 1000}));
                    voltpile::consolidate(own.life(), layout,
                                          scan_parts(own.life(), layout, layout.whole()).parts,
                                          some_provenance());
                }
            });
            ::_exit(static_cast<int>(code));
        }
        // Mostly while it commits, sometimes while it begins.
        while (round % 4 != 0 && !std::filesystem::exists(parts_path(result) / "layout.h5"))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
        // Every other time as soon as a commit is visible: where commits take a small part of the time
        // (sanitizers), chance alone would need many rounds.
        for (int look = 0; round % 2 == 1 && look < 2000 && !in_mid_commit(parts_path(result)); ++look)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        ::kill(child, SIGSTOP);
        int status = 0;
        ::waitpid(child, &status, WUNTRACED);
        ASSERT_TRUE(WIFSTOPPED(status));
        mid_commit += in_mid_commit(parts_path(result));

        const auto successor = open(take_over);
        const auto before = snapshot(folder.path());
        ::kill(child, SIGCONT);
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFEXITED(status));
        // It was taken over, or suspended so early that it did not have the lock yet and was refused.
        EXPECT_TRUE(WEXITSTATUS(status) == static_cast<int>(ExitCode::Failed) ||
                    WEXITSTATUS(status) == static_cast<int>(ExitCode::CannotRun))
            << WEXITSTATUS(status);
        EXPECT_EQ(snapshot(folder.path()), before);
    }
    EXPECT_GE(mid_commit, 10) << "hardly ever stopped in the middle: the test has shown little";
}

TEST_F(Fence, ParsesOnlyItsOwnLifeNames) {
    for (const char* name : {"life-1-0123456789abcdef", "life-2of4-17-00000000ffffffff"})
        EXPECT_EQ(LifeName::parse(name).value().text(), name);
    EXPECT_EQ(LifeName::parse("life-2of4-17-00000000ffffffff")->shard, (Shard{2, 4}));
    EXPECT_EQ(LifeName::parse("life-2of4-17-00000000ffffffff")->number, 17);
    for (const char* name : {"life", "life-", "life-1", "life-1-", "life--1-ab", "life-of4-1-ab", "life-x-1",
                             "life-2of-1-ab", "life-0-ab", "lives.jsonl", "my-life-1-ab", "life-01-ab"})
        EXPECT_FALSE(LifeName::parse(name)) << name;
}

class Journal : public Fence {
  protected:
    // A run of a batch job that begins with this many points and ends without a trace.
    void live(int restart_count, std::int64_t points, const std::string& job = "slurm 123") {
        PartFolder parts(
            result, layout, IfOther::Refuse,
            {{}, false, identity("node" + std::to_string(restart_count), 7, job, restart_count)});
        parts.check_progress(points);
        parts.record_life(points);
    }
    std::pair<std::string, ExitCode> refusal(int restart_count, std::int64_t points,
                                             const std::string& job = "slurm 123") {
        return error_of([&] { live(restart_count, points, job); });
    }
};

TEST_F(Journal, RecordsEveryLife) {
    live(0, 0);
    live(1, 70);
    const std::vector<LifeRecord> lives = read_lives(parts_path(result));
    ASSERT_EQ(lives.size(), 2u);
    EXPECT_EQ(lives[1].number, 2);
    EXPECT_EQ(lives[1].points, 70);
    EXPECT_EQ(lives[1].run.host, "node1");
    EXPECT_EQ(lives[1].run.batch_job, "slurm 123");
    EXPECT_EQ(lives[1].run.restart_count, 1);
    EXPECT_EQ(lives[1].date.size(), std::string("2024-05-06T07:08:09Z").size());
    EXPECT_EQ(lives[1].date.back(), 'Z');
}

TEST_F(Journal, SkipsHalfALine) {
    live(0, 0);
    const auto path = parts_path(result) / "lives.jsonl";
    write_text_file(path, file_text(path) + "{\"life\":2,\"fol");
    live(1, 0);
    EXPECT_EQ(read_lives(parts_path(result)).size(), 2u);
}

TEST_F(Journal, EndsAJobWithoutProgressInThreeLives) {
    live(0, 100);
    live(1, 100);
    live(2, 100);
    const auto before = names_in(parts_path(result));
    const auto journal = file_text(parts_path(result) / "lives.jsonl");
    const auto [message, code] = refusal(3, 100);
    EXPECT_EQ(code, ExitCode::Failed);
    for (const char* said :
         {"job 123 has made no progress", "(on node0, node1, node2)", "100 points", "memory"})
        EXPECT_NE(message.find(said), std::string::npos) << said << ": " << message;
    EXPECT_EQ(names_in(parts_path(result)), before);
    EXPECT_EQ(lives_in(parts_path(result)), 0u);
    EXPECT_EQ(file_text(parts_path(result) / "lives.jsonl"), journal);
    EXPECT_EQ(refusal(0, 100, "slurm 124").first, "");  // a new submission
}

TEST_F(Journal, ContinuesAfterAnyProgress) {
    live(0, 0);
    live(1, 100);
    live(2, 100);
    EXPECT_EQ(refusal(3, 100).first, "");  // the first of the last three began with no points
    EXPECT_EQ(refusal(4, 101).first, "");
    EXPECT_EQ(refusal(5, 101).first, "");
    EXPECT_EQ(refusal(6, 101).first, "");
    EXPECT_NE(refusal(7, 101).first, "");
}

TEST_F(Journal, CountsNoLivesWithoutABatchSystem) {
    for (int life = 0; life < 6; ++life) EXPECT_EQ(refusal(0, 0, "").first, "");
}

TEST(RunIdentityTest, ReadsSlurmsEnvironment) {
    ASSERT_EQ(run_in_child([] {
                  for (const char* name :
                       {"SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT"})
                      ::unsetenv(name);
                  if (this_run().batch_job != "" || this_run().restart_count != 0) return 1;
                  ::setenv("SLURM_JOB_ID", "123", 1);
                  if (this_run().batch_job != "slurm 123" || this_run().restart_count != 0) return 2;
                  ::setenv("SLURM_RESTART_COUNT", "2", 1);
                  if (this_run().restart_count != 2) return 3;
                  ::setenv("SLURM_ARRAY_JOB_ID", "120", 1);
                  ::setenv("SLURM_ARRAY_TASK_ID", "4", 1);
                  return this_run().batch_job == "slurm 120_4" ? 0 : 4;
              }),
              0);
}

}  // namespace
}  // namespace voltpile
