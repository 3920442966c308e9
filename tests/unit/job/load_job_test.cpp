#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

class LoadJob : public ::testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return (folder_ / name).string();
    }

    std::string problem(const std::string& path) const {
        const std::vector<AppSchema> apps{bowl_schema()};
        try {
            load_job(path, {}, apps);
            return "";
        } catch (const JobError& error) {
            EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
            return error.what();
        }
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("voltpile_load_job_" + std::to_string(getpid()));
};

TEST_F(LoadJob, ReadsFile) {
    const auto path = write("marbles.toml", bowl_job);
    const std::vector<AppSchema> apps{bowl_schema()};
    const auto job = load_job(path, {}, apps);
    EXPECT_EQ(job.text(), bowl_job);
    EXPECT_EQ(job.path(), path);
    EXPECT_EQ(job.name(), "marbles");
}

TEST_F(LoadJob, ReportsWhyFileCannotBeRead) {
    const auto missing = (folder_ / "none.toml").string();
    EXPECT_EQ(problem(missing), "cannot open job file " + missing + ": No such file or directory");
    EXPECT_EQ(problem(folder_.string()), "cannot read job file " + folder_.string() + ": Is a directory");
    const auto below_file = write("a.toml", bowl_job) + "/b.toml";
    EXPECT_EQ(problem(below_file), "cannot open job file " + below_file + ": Not a directory");
    const auto secret = write("secret.toml", bowl_job);
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    const bool root = geteuid() == 0;  // may read everything
    EXPECT_EQ(problem(secret), root ? "" : "cannot open job file " + secret + ": Permission denied");
}

TEST_F(LoadJob, RejectsOversizedFile) {
    const auto large = write("large.toml", bowl_job + std::string(1 << 20, '#'));
    EXPECT_EQ(problem(large), large + ": larger than 1 MiB, so it is not a job file");
    EXPECT_EQ(problem("/dev/zero"), "/dev/zero: larger than 1 MiB, so it is not a job file");
}

}  // namespace
}  // namespace voltpile::testing
