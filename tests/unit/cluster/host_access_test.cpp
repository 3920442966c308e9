#include "cluster/hosts/access.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace voltpile;

// Messages of OpenSSH 9.2.
TEST(HostAccess, ClassifiesSshFailures) {
    const RemoteShell unreached;
    const std::vector<std::pair<std::string, Access>> cases{
        {"ssh: Could not resolve hostname node9: Name or service not known", Access::NameUnknown},
        {"ssh: connect to host node2 port 22: Connection refused", Access::Refused},
        {"ssh: connect to host node2 port 22: No route to host", Access::Unreachable},
        {"ssh: connect to host node2 port 22: Connection timed out", Access::Unreachable},
        {"Connection timed out during banner exchange\nConnection to 10.0.0.2 port 22 timed out",
         Access::Unreachable},
        {"Warning: Permanently added 'node2' (ED25519) to the list of known hosts.\n"
         "root@node2: Permission denied (publickey).",
         Access::KeyNotAccepted},
        {"Received disconnect from 10.0.0.2 port 22:2: Too many authentication failures",
         Access::KeyNotAccepted},
        {"No ED25519 host key is known for node2 and you have requested strict checking.\n"
         "Host key verification failed.",
         Access::HostKeyUnknown},
        {"Host key verification failed.", Access::HostKeyUnknown},
        {"@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@@@@@\n"
         "Offending ED25519 key in /root/.ssh/known_hosts:1\nHost key verification failed.",
         Access::HostKeyChanged},
        {"kex_exchange_identification: Connection closed by remote host", Access::SshFailed},
    };
    for (const auto& [errors, access] : cases)
        EXPECT_EQ(access_failure(unreached, 255, errors), access) << errors;
}

TEST(HostAccess, FailureAfterLoginBlamesProgramOrLink) {
    RemoteShell reached;
    reached.reached = true;
    EXPECT_EQ(access_failure(reached, 127, "error while loading shared libraries"), Access::ProgramFails);
    EXPECT_EQ(access_failure(reached, 132, ""), Access::ProgramFails);
    EXPECT_EQ(access_failure(reached, 255, "Timeout, server node2 not responding."), Access::NoAnswer);
}

TEST(HostAccess, PicksTheMostTellingLine) {
    EXPECT_EQ(essence("Warning: something\nroot@node2: Permission denied (publickey).\r\n"),
              "root@node2: Permission denied (publickey).");
    EXPECT_EQ(essence("one\ntwo\n\n"), "two");
    EXPECT_EQ(essence(""), "");
}

TEST(HostAccess, ReadsShellLines) {
    RemoteShell shell;
    Access access = Access::Unreachable;
    for (const char* line :
         {"Welcome to node2", "voltpile-hosts-shell: reached", "voltpile-hosts-shell: mpirun /usr/bin/mpirun",
          "voltpile-hosts-shell: orted", "voltpile-hosts-shell: version mpirun (Open MPI) 4.1.4",
          "voltpile-hosts-shell: missing"})
        read_shell_line(line, shell, access);
    EXPECT_TRUE(shell.reached);
    EXPECT_EQ(shell.mpirun, "/usr/bin/mpirun");
    EXPECT_EQ(shell.orted, "");
    EXPECT_EQ(shell.mpirun_version, "mpirun (Open MPI) 4.1.4");
    EXPECT_EQ(shell.chatter, std::vector<std::string>{"Welcome to node2"});
    EXPECT_EQ(access, Access::ProgramMissing);
}

// Host names must not become options, and ssh must not prompt.
TEST(HostAccess, SshNeverPromptsOrHangs) {
    const auto command = ssh_command("me", "node1", "true");
    EXPECT_EQ(command.front(), "ssh");
    const auto has = [&](const char* word) { return std::ranges::find(command, word) != command.end(); };
    EXPECT_TRUE(has("BatchMode=yes"));
    EXPECT_TRUE(has("ConnectTimeout=5"));
    const auto dashes = std::ranges::find(command, "--");
    ASSERT_EQ(command.end() - dashes, 3);
    EXPECT_EQ(dashes[1], "node1");
    EXPECT_EQ(dashes[2], "true");
    EXPECT_TRUE(has("me"));
}
