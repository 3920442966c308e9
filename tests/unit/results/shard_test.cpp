// Tests several shards of one sweep with one result: at the same time, one after another, killed, and taken
// over.
#include <signal.h>

#include <chrono>
#include <random>
#include <thread>

#include "results/hdf5/field_io.h"
#include "results/open_result.h"
#include "results/parts/lives_journal.h"
#include "results/result_reader.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;
using IfOther = PartFolder::IfOther;

// Returns the bytes of every field of a finished result.
std::vector<FieldBuffer> bytes_in(const std::filesystem::path& result, const ResultLayout& layout) {
    Hdf5Guard guard;
    const Hdf5File file = open_hdf5(result.string());
    std::vector<FieldBuffer> all;
    for (const FieldSpec& field : layout.fields) {
        FieldBuffer bytes(static_cast<std::size_t>(layout.point_count()) * field.bytes_per_point());
        read_points(open_dataset(file.get(), field.name).get(), field, layout.whole(),
                    memory_type(field.type), bytes.data());
        all.push_back(std::move(bytes));
    }
    return all;
}

class Shards : public testing::Test {
  protected:
    Claim claim(int index, int count, bool take_over = false) const {
        return {{index, count}, take_over, this_run()};
    }
    std::unique_ptr<PartFolder> open(int index, int count) {
        return std::make_unique<PartFolder>(result, layout, IfOther::Refuse, claim(index, count));
    }
    void compute(const PartFolder& parts, WorkRange range) {
        commit_part(parts.life(), layout, range, data_of(layout, range));
    }
    ShardEnd finish(PartFolder& parts) { return finish_shard(parts, result, layout, some_provenance()); }
    void expect_finished() {
        EXPECT_EQ(bytes_in(result, layout), data_of(layout, layout.whole()));
        EXPECT_FALSE(std::filesystem::exists(parts_path(result)));
    }

    TemporaryFolder folder{memory_path()};
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({10, 9}), all_kinds_of_fields());  // 90 points
};

TEST_F(Shards, LastOfSimultaneousShardsWritesTheResult) {
    std::vector<std::unique_ptr<PartFolder>> shards;
    for (int i = 0; i < 4; ++i) shards.push_back(open(i, 4));
    EXPECT_EQ(shards[1]->interval(), (WorkRange{22, 45}));
    for (int i : {2, 0, 3, 1}) {
        compute(*shards[static_cast<std::size_t>(i)], shards[static_cast<std::size_t>(i)]->interval());
        EXPECT_EQ(finish(*shards[static_cast<std::size_t>(i)]),
                  i == 1 ? ShardEnd::ResultWritten : ShardEnd::OthersToCome);
    }
    expect_finished();
    EXPECT_EQ(open_result(result, layout, false, claim(3, 4)), nullptr);
}

TEST_F(Shards, MayOutnumberThePoints) {
    layout = layout_of(some_axes({2}), all_kinds_of_fields());
    for (int i = 0; i < 5; ++i) {
        const auto shard = open(i, 5);
        if (!shard->interval().empty()) compute(*shard, shard->interval());
        EXPECT_EQ(finish(*shard) == ShardEnd::ResultWritten, i == 4);
    }
    expect_finished();
}

TEST_F(Shards, ExcludeOtherRunsWhileAlive) {
    for (const auto& [alive, second] : std::vector<std::pair<Shard, Shard>>{
             {{2, 4}, {2, 4}}, {{2, 4}, {0, 1}}, {{0, 1}, {2, 4}}, {{2, 4}, {2, 5}}}) {
        auto first = open(alive.index, alive.count);
        const auto [message, code] = error_of([&] { open(second.index, second.count); });
        EXPECT_EQ(code, ExitCode::CannotRun);
        EXPECT_NE(message.find("another run is writing"), std::string::npos) << message;
        EXPECT_EQ(message.find(alive.text()) != std::string::npos, !alive.is_whole()) << message;
        compute(*first, {first->interval().begin, first->interval().begin + 1});
        first.reset();
        EXPECT_NO_THROW(open(second.index, second.count));
        std::filesystem::remove_all(parts_path(result));
    }
}

// Locks and lives of runs that were taken over must not block later runs.
TEST_F(Shards, YieldToAWholeRunThatTakesOver) {
    const auto first = open(0, 2), second = open(1, 2);
    {
        PartFolder whole(result, layout, IfOther::Refuse, claim(0, 1, true));
        for (const auto* shard : {&first, &second}) EXPECT_THROW(compute(**shard, {0, 1}), TakenOverError);
        compute(whole, {0, 1});
    }
    EXPECT_NO_THROW(open(0, 1));
    EXPECT_NO_THROW(open(0, 3));
}

TEST_F(Shards, LeaveSiblingsAlone) {
    const auto first = open(0, 2);
    {
        const auto second = open(1, 2);
        const PartFolder again(result, layout, IfOther::Refuse, claim(1, 2, true));
        EXPECT_THROW(compute(*second, {80, 81}), TakenOverError);
    }
    compute(*first, {0, 1});
    EXPECT_EQ(read_lives(parts_path(result)).size(), 0u);
}

TEST_F(Shards, RejectASecondJob) {
    const auto first = open(0, 2);
    ResultLayout other = layout;
    other.fingerprint = "ffffffffffffffffffffffffffffffff";
    EXPECT_THROW(PartFolder(result, other, IfOther::Refuse, claim(1, 2)), JobError);
    compute(*first, {0, 1});
}

TEST_F(Shards, ResumeAWholeRunAndViceVersa) {
    { compute(PartFolder(result, layout, IfOther::Refuse), {20, 50}); }
    {
        const auto shard = open(1, 4);  // 22 ... 44
        EXPECT_TRUE(scan_parts(shard->life(), layout, shard->interval()).completed.contains({22, 45}));
        EXPECT_EQ(finish(*shard), ShardEnd::OthersToCome);
    }
    { compute(*open(0, 4), {0, 20}); }
    PartFolder whole(result, layout, IfOther::Refuse);
    EXPECT_EQ(scan_parts(whole.life(), layout, layout.whole()).completed.size(), 50);
}

TEST_F(Shards, AnyShardConsolidatesAfterAKill) {
    for (int i = 0; i < 2; ++i) {
        const auto shard = open(i, 2);
        compute(*shard, shard->interval());  // without ending the shard
    }
    const auto any = open(0, 2);
    EXPECT_EQ(finish(*any), ShardEnd::ResultWritten);
    expect_finished();
}

TEST_F(Shards, OnlyOneConsolidates) {
    const auto first = open(0, 2), second = open(1, 2);
    for (const auto* shard : {&first, &second}) compute(**shard, (*shard)->interval());
    {
        const auto lock = first->lock_result();
        ASSERT_TRUE(lock);
        EXPECT_EQ(finish(*second), ShardEnd::OtherIsWriting);
        EXPECT_FALSE(std::filesystem::exists(result));
    }
    EXPECT_EQ(finish(*second), ShardEnd::ResultWritten);
    EXPECT_EQ(finish(*first), ShardEnd::OtherHasWritten);
    expect_finished();
}

TEST_F(Shards, NameTheShardOfADamagedPart) {
    for (int i = 0; i < 3; ++i) {
        const auto shard = open(i, 3);
        compute(*shard, shard->interval());
    }
    std::filesystem::resize_file(parts_path(result) / "part-000000000030-000000000060.h5", 10);
    const auto last = open(2, 3);
    const auto [message, code] = error_of([&] { finish(*last); });
    EXPECT_EQ(code, ExitCode::Failed);
    EXPECT_NE(message.find("run again: --shard 1/3"), std::string::npos) << message;
    const auto again = open(1, 3);
    compute(*again, {30, 60});
    EXPECT_EQ(finish(*again), ShardEnd::ResultWritten);
    expect_finished();
}

TEST_F(Shards, RejectFresh) {
    const auto [message, code] = error_of([&] { open_result(result, layout, true, claim(0, 2)); });
    EXPECT_EQ(code, ExitCode::BadInput);
    EXPECT_NE(message.find("--fresh"), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(parts_path(result)));
}

// A leader on another host does this when a shard's parts are safe.
TEST_F(Shards, RemoveOwnKeepsOtherShards) {
    const auto first = open(0, 2), second = open(1, 2);
    for (const auto* shard : {&first, &second}) compute(**shard, (*shard)->interval());
    first->remove_own();
    EXPECT_EQ(names_in(parts_path(result)),
              (std::vector<std::string>{"layout.h5", "lock-1of2", "part-000000000045-000000000090.h5"}));
    second->remove_own();
    EXPECT_FALSE(std::filesystem::exists(parts_path(result)));
}

// Runs are killed, stopped, continued and taken over at random until the result is complete, again and again.

class ShardStorm : public Shards {
  protected:
    static constexpr int count = 3;

    // A run of one shard, as the program performs it, in a process of its own.
    pid_t start(int index, std::mt19937::result_type seed, bool take_over) {
        const pid_t child = ::fork();
        if (child != 0) return child;
        ExitCode code = ExitCode::Done;
        try {
            run(index, seed, take_over);
        } catch (const Error& error) {
            code = error.exit_code();
            const std::string what = error.what();
            if (!what.starts_with("another run")) {
                std::fprintf(stderr, "%s\n", what.c_str());
                ::_exit(50);
            }
        }
        ::_exit(static_cast<int>(code));
    }

    void run(int index, std::mt19937::result_type seed, bool take_over) {
        const auto parts = open_result(result, layout, false, claim(index, count, take_over));
        if (!parts) return;
        std::mt19937 random(seed);
        RangeSet todo =
            scan_parts(parts->life(), layout, parts->interval()).completed.complement(parts->interval());
        while (!todo.empty()) compute(*parts, todo.take_front(1 + random() % 6));
        finish(*parts);
    }

    int wait_for(pid_t child) {
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
};

TEST_F(ShardStorm, GivesTheResultOfAnUninterruptedRun) {
    layout = layout_of(some_axes({40, 20}), all_kinds_of_fields());
    std::mt19937 random(5);
    int kills = 0, takeovers = 0, results = 0;
    while (kills + takeovers < 200) {
        std::filesystem::remove(result);
        std::vector<pid_t> runs(count);
        for (int i = 0; i < count; ++i) runs[static_cast<std::size_t>(i)] = start(i, random(), false);
        while (!std::filesystem::exists(result) && kills + takeovers < 200) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
            const auto victim = static_cast<std::size_t>(random() % count);
            const int index = static_cast<int>(victim);
            if (random() % 2 == 0) {
                ::kill(runs[victim], SIGKILL);
                wait_for(runs[victim]);
                runs[victim] = start(index, random(), false);
                ++kills;
            } else {
                ::kill(runs[victim], SIGSTOP);
                const pid_t successor = start(index, random(), true);
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
                ::kill(runs[victim], SIGCONT);
                EXPECT_NE(wait_for(runs[victim]), 50);
                runs[victim] = successor;
                ++takeovers;
            }
        }
        for (const pid_t each : runs) EXPECT_NE(wait_for(each), 50);
        for (int i = 0; i < count; ++i) EXPECT_EQ(wait_for(start(i, random(), false)), 0);
        for (int i = 0; i < count; ++i) EXPECT_EQ(wait_for(start(i, random(), false)), 0);
        expect_finished();
        ++results;
    }
    std::printf("%d kills, %d takeovers, %d results\n", kills, takeovers, results);
    EXPECT_GT(kills, 50);
    EXPECT_GT(takeovers, 50);
}

}  // namespace
}  // namespace voltpile
