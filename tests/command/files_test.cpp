// Files that a run needs or leaves: checkpoints and staged files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/host_name.h"
#include "command/checkpoint.h"
#include "command/staged_files.h"

namespace voltpile::command {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
  protected:
    Files() : folder_(fs::temp_directory_path() / ("voltpile-files-" + std::to_string(getpid()))) {
        fs::create_directories(folder_);
    }
    ~Files() override { fs::remove_all(folder_); }

    void write(const std::string& name, std::time_t changed) {
        std::ofstream(folder_ / name) << name;
        const std::array<timespec, 2> times{timespec{changed, 0}, timespec{changed, 0}};
        utimensat(AT_FDCWD, (folder_ / name).c_str(), times.data(), 0);
    }
    std::string newest(const std::string& pattern, double begin_s) const {
        const auto found = newest_checkpoint((folder_ / pattern).string(), begin_s);
        return found ? found->path.filename().string() : "";
    }

    fs::path folder_;
};

TEST_F(Files, NewestCheckpointIsTheLastChanged) {
    write("step-9.pt", 1000);
    write("step-10.pt", 2000);
    write("other", 3000);
    EXPECT_EQ(newest("step-*.pt", 0), "step-10.pt");
    EXPECT_EQ(newest("step-*.pt", 2000), "step-10.pt");
    EXPECT_EQ(newest("step-*.pt", 2001), "");
    EXPECT_EQ(newest("absent-*", 0), "");
    write("step-11.pt", 2000);
    EXPECT_EQ(newest("step-1?.pt", 0), "step-11.pt");
}

TEST_F(Files, TextsInCheckpointPatternsStandForThemselves) {
    fs::create_directories(folder_ / "a[1]*");
    fs::create_directories(folder_ / "a1x");
    write("a[1]*/step-2.pt", 1000);
    write("a[1]*/step-?.pt", 1001);
    write("a1x/step-3.pt", 2000);
    TemplateValues values{
        {"folder", (folder_ / "a[1]*").string()}, {"nic", std::string("?")}, {"point", std::int64_t{2}}};
    const auto found = [&](const std::string& text) {
        const auto checkpoint = newest_checkpoint(checkpoint_pattern(text, values), 0);
        return checkpoint ? fs::relative(checkpoint->path, folder_).string() : "";
    };
    EXPECT_EQ(found("step-*.pt"), "a[1]*/step-?.pt");
    EXPECT_EQ(found("step-{point}.pt"), "a[1]*/step-2.pt");
    EXPECT_EQ(found("step-{nic}.pt"), "a[1]*/step-?.pt");
    EXPECT_EQ(found("{folder}/step-[0-9].pt"), "a[1]*/step-2.pt");
    values["folder"] = (folder_ / "a1x").string();
    EXPECT_EQ(found("step-*.pt"), "a1x/step-3.pt");
}

TEST_F(Files, StagedFilesArriveWithTheirContentAndMode) {
    const std::string bytes("a\0b", 3);
    const auto files = staged_files_from(to_bytes({{"data", bytes, false}, {"tool", "#!", true}}));
    write_staged_files(files, folder_);
    write_staged_files(files, folder_);  // again
    std::ifstream stream(folder_ / "data", std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), bytes);
    EXPECT_EQ(access((folder_ / "tool").c_str(), X_OK), 0);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
    EXPECT_THROW(write_staged_files(files, folder_ / "absent"), FileError);
}

TEST_F(Files, StagedFilesDoNotReplaceTheirSources) {
    const auto text_of = [&](const std::string& name) {
        std::ifstream stream(folder_ / name);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    write("source", 1000);
    fs::create_directories(folder_ / "other");
    struct stat found {};
    ASSERT_EQ(stat((folder_ / "source").c_str(), &found), 0);
    StagedFile file{
        "source", "staged", false, {(folder_ / "source").string(), host_identity(), found.st_ino}};
    const auto write_again = [&] { write_staged_files(staged_files_from(to_bytes({file})), folder_); };
    write_again();
    EXPECT_EQ(text_of("source"), "source");
    file.source.host = "another node";  // which sees the same disk
    write_again();
    EXPECT_EQ(text_of("source"), "source");
    write_staged_files({file}, folder_ / "other");
    EXPECT_EQ(text_of("other/source"), "staged");
    ++file.source.inode;  // a node whose own disk has a file of this path
    write_again();
    EXPECT_EQ(text_of("source"), "staged");
}

}  // namespace
}  // namespace voltpile::command
