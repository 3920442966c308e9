// Tests a full disk and a killed process. RLIMIT_FSIZE makes the disk "full" without privileges: writing
// beyond the limit fails with EFBIG, on any file system.
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/fault.h"
#include "results/result_reader.h"
#include "results/result_writer.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

void limit_file_size(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
}

bool says(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
}

class FullDisk : public testing::Test {
  protected:
    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({1000, 200}), {field("steps", FieldType::Float64)});  // 1.6 MB
    PartFolder parts{result, layout, PartFolder::IfOther::Refuse};
};

TEST_F(FullDisk, CommitFailsAndLeavesNothing) {
    commit_all(parts.path(), layout, {0, 100});
    const auto before = names_in(parts.path());
    const int code = run_in_child([&] {
        limit_file_size(100'000);
        const auto [message, exit_code] = error_of([&] {
            commit_part(parts.path(), layout, {100, 100'000}, data_of(layout, {100, 100'000}));
        });
        std::fprintf(stderr, "%s\n", message.c_str());
        return says(message, "part-000000000100-000000100000.h5: File too large") &&
                       exit_code == ExitCode::Failed
                   ? 0
                   : 1;
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(names_in(parts.path()), before);
    EXPECT_EQ(scan_parts(parts.path(), layout).completed.ranges(), (std::vector<WorkRange>{{0, 100}}));
}

TEST_F(FullDisk, WriterRethrowsTheError) {
    const int code = run_in_child([&] {
        limit_file_size(100'000);
        std::vector<WorkRange> durable;
        ResultWriter writer(parts.life(), layout, [&](WorkRange range) { durable.push_back(range); });
        writer.submit({0, 100}, data_of(layout, {0, 100}));
        writer.submit({100, 100'000}, data_of(layout, {100, 100'000}));
        const std::string drained = error_of([&] { writer.drain(); }).first;
        const std::string submitted =
            error_of([&] {
                writer.submit({100'000, 100'001}, data_of(layout, {100'000, 100'001}));
            }).first;
        if (!says(drained, "File too large") || !says(submitted, "File too large")) return 1;
        return durable == std::vector<WorkRange>{{0, 100}} ? 0 : 2;
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(scan_parts(parts.path(), layout).completed.ranges(), (std::vector<WorkRange>{{0, 100}}));
}

TEST_F(FullDisk, ConsolidationFailsAndChangesNothing) {
    std::vector<std::int64_t> bounds;
    for (std::int64_t at = 0; at <= 200'000; at += 4000) bounds.push_back(at);
    commit_all(parts.path(), layout, bounds);
    write_text_file(result, "an earlier result");
    const auto parts_before = names_in(parts.path());
    // The disk is full at once, in the middle, and just before the end.
    for (const rlim_t limit : {1000u, 400'000u, 1'600'000u}) {
        const int code = run_in_child([&] {
            const PartScan scan = scan_parts(parts.path(), layout);
            limit_file_size(limit);
            const auto [message, exit_code] =
                error_of([&] { consolidate(result, layout, scan.parts, some_provenance()); });
            std::fprintf(stderr, "%s\n", message.c_str());
            return says(message, "map.h5") && says(message, "File too large") && exit_code == ExitCode::Failed
                       ? 0
                       : 1;
        });
        EXPECT_EQ(code, 0) << limit;
        EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"map.h5", "map.h5.parts"}));
        EXPECT_EQ(names_in(parts.path()), parts_before);
        EXPECT_EQ(file_text(result), "an earlier result");
    }
    consolidate(result, layout, scan_parts(parts.path(), layout).parts, some_provenance());
    EXPECT_TRUE(ResultReader(result).complete());
}

// HDF5 prints each failure, a screenful each time, in every thread that has not turned this off.
TEST_F(FullDisk, PrintsOnlyTheMessageInAnyThread) {
    commit_all(parts.path(), layout, {0, 100'000, 200'000});
    const int code = run_in_child([&] {
        const PartScan scan = scan_parts(parts.path(), layout);
        limit_file_size(1000);
        testing::internal::CaptureStderr();
        std::string message;
        std::thread([&] {
            message = error_of([&] { consolidate(result, layout, scan.parts, some_provenance()); }).first;
        }).join();
        const std::string printed = testing::internal::GetCapturedStderr();
        std::fprintf(stderr, "%s\n%s", message.c_str(), printed.c_str());
        return says(message, "File too large") && printed.empty() ? 0 : 1;
    });
    EXPECT_EQ(code, 0);
}

// A part that is damaged between the scan and the consolidation must not become part of a result.
TEST_F(FullDisk, ConsolidationRejectsADamagedPart) {
    commit_all(parts.path(), layout, {0, 100'000, 200'000});
    const PartScan scan = scan_parts(parts.path(), layout);
    std::string bytes = file_text(scan.parts[1].path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_text_file(scan.parts[1].path, bytes);
    const std::string message =
        error_of([&] { consolidate(result, layout, scan.parts, some_provenance()); }).first;
    EXPECT_TRUE(says(message, scan.parts[1].path.string()) && says(message, "checksum")) << message;
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"map.h5.parts"}));
}

// A disk that damages what it writes: each such part is found before it becomes part of a result.
TEST(DamagedWrite, IsFoundInAPart) {
    const TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes({100, 10}), all_kinds_of_fields());
    const PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    ::setenv("VOLTPILE_FAULT", "corrupt:write=1", 1);
    load_faults(0);
    voltpile::commit_part(parts.life(), layout, {0, 100}, data_of(layout, {0, 100}));
    ::unsetenv("VOLTPILE_FAULT");
    load_faults(0);
    voltpile::commit_part(parts.life(), layout, {100, 1000}, data_of(layout, {100, 1000}));
    const PartScan scan = scan_parts(parts.life(), layout, layout.whole());
    ASSERT_EQ(scan.rejected.size(), 1u);
    EXPECT_EQ(scan.completed.ranges(), (std::vector<WorkRange>{{100, 1000}}));
}

// kill -9 at any moment: a file with the name of a part is complete.
TEST(Killed, LeavesOnlyCompleteParts) {
    TemporaryFolder folder;
    const std::filesystem::path result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes({5000, 5000}), all_kinds_of_fields());
    std::vector<std::vector<FieldBuffer>>
        data;  // made once, so that the child is mostly committing when it is killed
    for (std::int64_t i = 0; i < 4; ++i) data.push_back(data_of(layout, {i * 500, i * 500 + 500}));
    std::mt19937 random(1);
    std::size_t temporaries = 0;
    std::int64_t next = 0;
    for (int kill = 0; kill < 50; ++kill) {
        const PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        EXPECT_EQ(lives_in(parts.path()), 1u);  // nothing of the last child is left
        const pid_t child = ::fork();
        if (child == 0) {
            // Commit the bytes of the first 4 ranges again and again; only the range differs.
            for (std::int64_t i = next;; ++i)
                commit_part(parts.life(), layout, {i * 500, i * 500 + 500}, data[i % 4]);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 20'000));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        temporaries += names_in(parts.life().folder()).size();
        const PartScan scan = scan_parts(parts.life(), layout, layout.whole());
        EXPECT_TRUE(scan.rejected.empty()) << scan.rejected.front().reason;
        // Every range whose commit returned exists.
        EXPECT_LE(scan.completed.ranges().size(), 1u);
        next = scan.completed.size() / 500;
    }
    EXPECT_GT(next, 0);
    // Otherwise no kill has hit a commit, and the test has shown nothing.
    EXPECT_GT(temporaries, 0u);
}

TEST(Killed, ConsolidationLeavesTheOldOrTheNewResult) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes({1000, 1000}), {field("steps", FieldType::Float64)});
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_all(parts.path(), layout, {0, 300'000, 1'000'000});
    const PartScan scan = scan_parts(parts.path(), layout);
    std::mt19937 random(2);
    int absent = 0;
    for (int kill = 0; kill < 20; ++kill) {
        std::filesystem::remove(result);
        const pid_t child = ::fork();
        if (child == 0) {
            for (;;) consolidate(result, layout, scan.parts, some_provenance());
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        const ResultState state = inspect_result(result, layout.fingerprint);
        EXPECT_TRUE(state == ResultState::Absent || state == ResultState::Complete);
        absent += state == ResultState::Absent;
        EXPECT_TRUE(scan_parts(parts.path(), layout).completed.contains(layout.whole()));
    }
    EXPECT_GT(absent, 0) << "no kill came before the first result: shorten the delays";
    consolidate(result, layout, scan.parts, some_provenance());
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"map.h5", "map.h5.parts"}));
}

}  // namespace
}  // namespace voltpile
