#include "llm/model/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "model_test_files.h"

namespace voltpile::llm {
namespace {

using test_files::TestFolder;

class MappedFileDeathTest : public ::testing::Test {
  protected:
    // Each death test runs in a new process without threads. The new process also makes UCX read its
    // environment again, which is necessary to turn off the backtrace that some versions print.
    MappedFileDeathTest() {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        setenv("UCX_HANDLE_ERRORS", "none", 1);
    }

    static const auto failed() { return ::testing::ExitedWithCode(static_cast<int>(ExitCode::Failed)); }

    TestFolder folder_{"mapped_file"};
    const std::string pages_ = std::string(1 << 16, 'x');  // several pages of any size
};

// Reads all bytes so that the compiler cannot drop the reads.
int sum_of(const MappedFile& file) {
    int sum = 0;
    for (const std::byte each : file.bytes()) sum += static_cast<int>(each);
    return sum;
}

TEST_F(MappedFileDeathTest, NamesAShortenedFile) {
    const std::string path = folder_.write("short.gguf", pages_), other = folder_.write("other.gguf", pages_);
    EXPECT_EXIT(
        {
            const MappedFile whole(other);
            const MappedFile file(path);
            if (::truncate(path.c_str(), 100) == 0) std::exit(sum_of(whole) + sum_of(file));
        },
        failed(), "^error: .*/short.gguf was truncated while in use\n$");
}

TEST_F(MappedFileDeathTest, ReportsOnceFromSeveralThreads) {
    const std::string path = folder_.write("short.gguf", pages_);
    EXPECT_EXIT(
        {
            const MappedFile file(path);
            if (::truncate(path.c_str(), 0) != 0) std::exit(1);
            std::vector<std::jthread> readers;
            for (int i = 0; i < 8; ++i) readers.emplace_back([&] { std::exit(sum_of(file)); });
        },
        failed(), "^error: .*/short.gguf was truncated while in use\n$");
}

// Bus errors from other causes end the process as if no file were watched.
TEST_F(MappedFileDeathTest, PassesOnOtherBusErrors) {
    const std::string path = folder_.write("short.gguf", pages_);
    EXPECT_EXIT(
        {
            std::signal(SIGBUS, SIG_DFL);  // the address sanitizer has a handler of its own
            const MappedFile file(path);
            ::kill(::getpid(), SIGBUS);
        },
        ::testing::KilledBySignal(SIGBUS), "^$");
}

}  // namespace
}  // namespace voltpile::llm
