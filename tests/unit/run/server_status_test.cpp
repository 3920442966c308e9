#include "run/server_status.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "run/live_server.h"

using namespace voltpile;

// Outside of an unnamed namespace: this file may be compiled with others in one batch, which GCC takes for a
// header.
class ServerStatusFile : public testing::Test {
  protected:
    ServerStatusFile() { std::filesystem::create_directory(folder); }
    ~ServerStatusFile() override { std::filesystem::remove_all(folder); }

    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("voltpile-status-" + std::to_string(::getpid()));
    std::filesystem::path address = folder / "lab.address";
    ServerStatus status{"http://node1:8000", "node1", 17, true, 3, 2, 120, 1000, 1'700'000'000};
};

TEST_F(ServerStatusFile, ReadsWhatWasWritten) {
    write_server_status(server_status_path(address), status);
    EXPECT_EQ(read_server_status(server_status_path(address)), status);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    EXPECT_GT(status.age_s(), 0);
}

TEST_F(ServerStatusFile, IsFoundByTheNameOfTheResult) {
    EXPECT_EQ(find_server_status(folder / "lab.h5"), std::nullopt);
    write_server_status(server_status_path(address), status);
    EXPECT_EQ(find_server_status(folder / "lab.h5"), status);
    EXPECT_EQ(find_server_status(address), status);
    EXPECT_EQ(find_server_status(folder / "other.h5"), std::nullopt);
}

TEST_F(ServerStatusFile, IsShownWithItsNodes) {
    LiveNode node{"node1", {}};
    node.sample.time_s = static_cast<double>(status.unix_time) + 1;
    node.sample.host.cpu_percent = 12.5;
    write_server_node(address, node);
    EXPECT_TRUE(read_live_server(address).nodes.empty());  // no server
    write_server_status(server_status_path(address), status);
    LiveNode old{"node0", {}};  // a server that was killed has left it
    old.sample.time_s = node.sample.time_s - 3600;
    write_server_node(address, old);
    const LiveStatus live = read_live_server(folder / "lab.h5");
    ASSERT_EQ(live.jobs.size(), 1u);
    EXPECT_EQ(live.jobs[0].line,
              "lab at http://node1:8000, stopping  3 running  2 waiting  120 tokens/s  1,000 answered");
    EXPECT_EQ(live.jobs[0].time_s, 1'700'000'000);
    ASSERT_EQ(live.nodes.size(), 1u);
    EXPECT_EQ(live.nodes[0].host, "node1");
    EXPECT_EQ(live.nodes[0].sample.host.cpu_percent, 12.5);
    remove_server_node(address, "node1");
    EXPECT_TRUE(read_live_server(address).nodes.empty());
}

TEST_F(ServerStatusFile, IgnoresOtherFiles) {
    for (const char* text : {"", "{", "[1]", "{\"address\": 3}", "{\"address\": \"http://node1:8000\"}"}) {
        std::ofstream(server_status_path(address)) << text;
        EXPECT_EQ(read_server_status(server_status_path(address)), std::nullopt) << text;
    }
}

TEST_F(ServerStatusFile, NamesTheFileThatCannotBeWritten) {
    EXPECT_THROW(write_server_status(folder / "nowhere" / "lab.address.json", status), FileError);
}
