#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/standard_streams.h"

using namespace voltpile;

namespace {

// Puts another file in the place of stderr.
class StderrIs {
  public:
    explicit StderrIs(int fd) : before_(dup(STDERR_FILENO)) {
        dup2(fd, STDERR_FILENO);
        close(fd);
    }
    ~StderrIs() {
        dup2(before_, STDERR_FILENO);
        close(before_);
    }
    StderrIs(const StderrIs&) = delete;
    StderrIs& operator=(const StderrIs&) = delete;

  private:
    int before_;
};

bool pipe_signal_pending() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

}  // namespace

TEST(PrintStderr, AppendsTextAndLines) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    {
        const StderrIs redirected(ends[1]);
        print_stderr("3 of ");
        print_error("four");
    }
    char text[64] = "";
    ASSERT_GT(read(ends[0], text, sizeof text - 1), 0);
    EXPECT_STREQ(text, "3 of four\n");
    close(ends[0]);
}

TEST(PrintStderr, ReplacesWhatATerminalObeys) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    {
        const StderrIs redirected(ends[1]);
        print_error("a\033[31m\n\tb\xC2\x9B K\xC3\xB6ln");
        log_to_stderr();
        spdlog::warn("x\033]0;y\a\xE2\x80\xAE");
        print_error(std::string(20'000, 'x'));
    }
    std::string text;
    for (char c = 0; read(ends[0], &c, 1) == 1;) text += c;
    EXPECT_EQ(text, "a?[31m\n\tb? K\xC3\xB6ln\nwarning: x?]0;y??\n" + std::string(20'000, 'x') + "\n");
    close(ends[0]);
}

TEST(PrintStderr, LosesTextOnAFullDevice) {
    const StderrIs full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    print_error("lost");
    log_to_stderr();
    spdlog::warn("lost");
}

TEST(PrintStderr, LosesTextOnAClosedPipeWithoutASignal) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    const StderrIs broken(ends[1]);
    print_error("lost");  // by default SIGPIPE would end this program
    log_to_stderr();
    spdlog::warn("lost");
    EXPECT_FALSE(pipe_signal_pending());
}

TEST(PrintStderr, LosesTextOnAClosedDescriptor) {
    const int kept = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    print_error("lost");
    dup2(kept, STDERR_FILENO);
    close(kept);
}
