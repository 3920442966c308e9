// Tests that every job of tests/invalid_jobs fails with exactly the expected messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "job/job_spec.h"
#include "threebody/keys.h"

namespace voltpile {
namespace {

const std::filesystem::path kInvalidJobs =
    std::filesystem::path(VOLTPILE_SOURCE_DIR) / "tests" / "invalid_jobs";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

bool agrees(const std::string& line, const std::string& expected) {
    if (expected.ends_with('*')) return line.starts_with(expected.substr(0, expected.size() - 1));
    return line == expected;
}

TEST(InvalidJobs, GiveTheExpectedMessages) {
    const std::vector<AppSchema> apps{threebody_schema()};
    int jobs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kInvalidJobs)) {
        if (entry.path().extension() != ".toml") continue;
        ++jobs;
        const auto name = entry.path().filename().string();
        const auto expected =
            lines_of(text_of(std::filesystem::path(entry.path()).replace_extension(".expected")));
        EXPECT_FALSE(expected.empty()) << name;
        try {
            parse_job(text_of(entry.path()), name, {}, apps);
            ADD_FAILURE() << name << " was accepted";
        } catch (const JobError& error) {
            EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
            const auto lines = lines_of(error.what());
            EXPECT_TRUE(std::equal(lines.begin(), lines.end(), expected.begin(), expected.end(), agrees))
                << name << " was refused with\n"
                << error.what();
        }
    }
    EXPECT_GE(jobs, 40);
}

}  // namespace
}  // namespace voltpile
