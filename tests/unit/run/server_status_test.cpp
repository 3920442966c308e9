#include "run/server_status.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"

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
    ServerStatus status{"http://node1:8000", "node1", 17, true, 3, 2, 120.5, 1000, 1'700'000'000};
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

TEST_F(ServerStatusFile, IgnoresOtherFiles) {
    for (const char* text : {"", "{", "[1]", "{\"address\": 3}", "{\"address\": \"http://node1:8000\"}"}) {
        std::ofstream(server_status_path(address)) << text;
        EXPECT_EQ(read_server_status(server_status_path(address)), std::nullopt) << text;
    }
}

TEST_F(ServerStatusFile, NamesTheFileThatCannotBeWritten) {
    EXPECT_THROW(write_server_status(folder / "nowhere" / "lab.address.json", status), FileError);
}
