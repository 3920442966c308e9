#include "base/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace voltpile {
namespace {

// Runs `body` in a process of its own and returns its exit code, or -1 if a signal ended it.
template <class Body>
int exit_code_of_child(Body body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardStreams, ClosedOnesLeadToDevNull) {
    EXPECT_EQ(exit_code_of_child([] {
                  for (int stream = 0; stream < 3; ++stream) close(stream);
                  open_missing_streams();
                  return open("/dev/null", O_RDONLY) > STDERR_FILENO
                             ? 0
                             : 1;  // the parent may have left others open
              }),
              0);
    EXPECT_EQ(exit_code_of_child([] {
                  close(STDOUT_FILENO);
                  open_missing_streams();
                  return write(STDOUT_FILENO, "x", 1) == 1 ? 0 : 1;
              }),
              0);
}

TEST(StandardStreams, ErrorsSurviveAFullStderr) {
    EXPECT_EQ(exit_code_of_child([] {
                  dup2(open("/dev/full", O_WRONLY), STDERR_FILENO);
                  print_error("lost");
                  return 7;
              }),
              7);
}

}  // namespace
}  // namespace voltpile
