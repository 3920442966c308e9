#include "results/result_writer.h"

#include <atomic>
#include <condition_variable>

#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;
using namespace std::chrono_literals;

class ResultWriterTest : public testing::Test {
  protected:
    std::vector<FieldBuffer> data(std::int64_t point) const { return data_of(layout, {point, point + 1}); }

    TemporaryFolder folder;
    Life life = life_in(folder.path());
    ResultLayout layout = layout_of(some_axes({100}), {field("steps", FieldType::Int32)});
};

TEST_F(ResultWriterTest, AnnouncesOnlyWhatIsDurable) {
    std::vector<WorkRange> announced;
    ResultWriter writer(life, layout, [&](WorkRange range) {
        EXPECT_TRUE(scan_parts(folder.path(), layout).completed.contains(range));
        announced.push_back(range);
    });
    for (std::int64_t p = 0; p < 10; ++p) writer.submit({p, p + 1}, data(p));
    writer.drain();
    ASSERT_EQ(announced.size(), 10u);
    for (std::int64_t p = 0; p < 10; ++p) EXPECT_EQ(announced[p], (WorkRange{p, p + 1}));
    EXPECT_EQ(scan_parts(folder.path(), layout).completed.size(), 10);
}

// Memory must hold one range that is being written and two that wait, not more.
TEST_F(ResultWriterTest, BlocksWhileTwoAreWaiting) {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    std::atomic<int> submitted = 0;
    ResultWriter writer(life, layout, [&](WorkRange) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return open; });
    });
    std::thread app([&] {
        for (std::int64_t p = 0; p < 6; ++p) {
            writer.submit({p, p + 1}, data(p));
            ++submitted;
        }
    });
    while (submitted < 3) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(50ms);  // long enough for a fourth to be accepted
    EXPECT_EQ(submitted, 3);
    {
        std::lock_guard lock(mutex);
        open = true;
    }
    changed.notify_all();
    app.join();
    writer.drain();
    EXPECT_EQ(scan_parts(folder.path(), layout).completed.size(), 6);
}

TEST_F(ResultWriterTest, DropsWaitingRangesOnDestruction) {
    std::atomic<bool> committing = false;
    {
        ResultWriter writer(life, layout, [&](WorkRange) {
            committing = true;
            std::this_thread::sleep_for(100ms);
        });
        for (std::int64_t p = 0; p < 3; ++p) writer.submit({p, p + 1}, data(p));
        while (!committing) std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(scan_parts(folder.path(), layout).completed.ranges(), (std::vector<WorkRange>{{0, 1}}));
}

TEST_F(ResultWriterTest, WakesABlockedSubmitOnFailure) {
    std::filesystem::remove_all(folder.path());
    ResultWriter writer(life, layout, nullptr);
    const auto [message, code] = error_of([&] {
        for (std::int64_t p = 0; p < 10; ++p) writer.submit({p, p + 1}, data(p));
        writer.drain();
    });
    EXPECT_NE(message.find("has been removed"), std::string::npos) << message;
    EXPECT_EQ(code, ExitCode::Failed);
}

// Ranks of one host may be threads, and HDF5 is not thread-safe.
TEST_F(ResultWriterTest, WorksWithManyWritersAtOnce) {
    std::vector<std::thread> ranks;
    for (std::int64_t r = 0; r < 4; ++r) {
        ranks.emplace_back([&, r] {
            ResultWriter writer(life, layout, nullptr);
            for (std::int64_t p = r; p < 100; p += 4) writer.submit({p, p + 1}, data(p));
            writer.drain();
        });
    }
    for (std::thread& rank : ranks) rank.join();
    const PartScan scan = scan_parts(folder.path(), layout);
    EXPECT_EQ(scan.parts.size(), 100u);
    EXPECT_TRUE(scan.rejected.empty());
}

}  // namespace
}  // namespace voltpile
