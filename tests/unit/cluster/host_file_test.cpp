#include "cluster/hosts/host_file.h"

#include <gtest/gtest.h>

#include "base/error.h"

using namespace voltpile;

namespace {

std::string problems_of(const std::string& text) {
    try {
        parse_host_file(text, "HOSTS");
    } catch (const JobError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "";
}

}  // namespace

// The grammar of mpirun(1), "Host file".
TEST(HostFile, ReadsNamesSlotsAndComments) {
    const auto hosts = parse_host_file(
        "# the rack\n"
        "node1 slots=2 max_slots=4\n"
        "\n"
        "  me@node2.lan   slots = 3   # the left one\r\n"
        "10.0.0.3 max-slots=1\n"
        "fd00::4",
        "HOSTS");
    ASSERT_EQ(hosts.size(), 4u);
    EXPECT_EQ(hosts[0].name, "node1");
    EXPECT_EQ(hosts[0].slots, 2);
    EXPECT_EQ(hosts[0].max_slots, 4);
    EXPECT_EQ(hosts[0].line, 2);
    EXPECT_EQ(hosts[1].name, "node2.lan");
    EXPECT_EQ(hosts[1].user, "me");
    EXPECT_EQ(hosts[1].slots, 3);
    EXPECT_EQ(hosts[1].line, 4);
    EXPECT_EQ(hosts[2].name, "10.0.0.3");
    EXPECT_EQ(hosts[2].slots, 0);
    EXPECT_EQ(hosts[2].max_slots, 1);
    EXPECT_EQ(hosts[3].name, "fd00::4");
}

TEST(HostFile, RejectsEmptyFile) {
    EXPECT_EQ(problems_of(""), "HOSTS: no hosts: write one per line, such as `node1 slots=4`");
    EXPECT_NE(problems_of("\n# node1\n"), "");
}

TEST(HostFile, ReportsAllProblemsWithLines) {
    EXPECT_EQ(problems_of("node1 slots=2\n"
                          "node2 slots=two\n"
                          "node1\n"
                          "node3 slot=1\n"
                          "node4 slots=4 max_slots=2\n"
                          "node5 slots\n"
                          "node6 slots=0\n"
                          "node7 slots=\n"),
              "HOSTS:2: slots=two: must be an integer of at least 1\n"
              "HOSTS:3: node1 is already on line 1: list it once, with slots=N\n"
              "HOSTS:4: unknown setting \"slot\": use slots or max_slots\n"
              "HOSTS:5: slots=4 is more than max_slots=2\n"
              "HOSTS:6: \"slots\" after the host's name: expected slots=N or max_slots=N\n"
              "HOSTS:7: slots=0: must be an integer of at least 1\n"
              "HOSTS:8: slots=: must be an integer of at least 1");
}

// Rejects names that ssh would read as options or a shell as several words.
TEST(HostFile, RejectsInvalidNames) {
    for (const char* name :
         {"-oProxyCommand=touch", "a;b", "$(x)", "user@", "@host", "-l@host", "h\"", "h/x"})
        EXPECT_NE(problems_of(name), "") << name;
}

TEST(HostFile, RejectsMissingFileAndFolder) {
    EXPECT_THROW(load_host_file("/nonexistent/HOSTS"), FileError);
    EXPECT_THROW(load_host_file("/tmp"), FileError);
    EXPECT_THROW(load_host_file("/dev/zero"), JobError);
}

TEST(HostList, ReadsNamesAndSlots) {
    const auto hosts = parse_host_list("node1:2,node2");
    ASSERT_EQ(hosts.size(), 2u);
    EXPECT_EQ(hosts[0].name, "node1");
    EXPECT_EQ(hosts[0].slots, 2);
    EXPECT_EQ(hosts[1].name, "node2");
    EXPECT_EQ(hosts[1].slots, 0);
}

TEST(HostList, RejectsInvalidLists) {
    for (const char* list : {"", "node1:x", "node1:0", "node1,node1", "node1,,node2", ":3"})
        EXPECT_THROW(parse_host_list(list), JobError) << list;
}
