// Removes a part folder while threads of the run, such as the one that shows its status, still write there.
#include <atomic>
#include <thread>

#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

TEST(Removal, LeavesNothingWhileThreadsOfTheRunStillWrite) {
    const TemporaryFolder folder(memory_path());
    const std::filesystem::path result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes({4}), all_kinds_of_fields());
    for (int i = 0; i < 30; ++i) {
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        const Life life = parts.life();
        std::atomic<bool> writing = false;
        std::jthread writer([&](const std::stop_token& stop) {
            try {
                for (; !stop.stop_requested(); writing = true)
                    write_in(life, life.folder() / "status", {}, Flush::Later);
            } catch (const FileError&) {  // the folder is gone
            }
        });
        while (!writing) std::this_thread::yield();
        parts.remove();
        writer.request_stop();
        writer.join();
        ASSERT_FALSE(std::filesystem::exists(parts.path())) << "round " << i;
    }
}

}  // namespace
}  // namespace voltpile
