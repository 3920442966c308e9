#include "results/output_file.h"

#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

class OutputFile : public testing::Test {
  protected:
    TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "out.txt";
    OutputKind kind{"the writer",
                    [](const std::filesystem::path& file) { return file_text(file) == "ours"; }};

    std::string refusal(const std::vector<std::filesystem::path>& kept = {}) {
        return error_of([&] { check_output_file(path, "--output", kind, kept); }).first;
    }
};

TEST_F(OutputFile, AcceptsAFreeNameAndItsOwnFile) {
    EXPECT_EQ(refusal(), "");
    write_text_file(path, "ours");
    EXPECT_EQ(refusal(), "");
}

TEST_F(OutputFile, RejectsAnotherFile) {
    for (const char* content : {"theirs", ""}) {
        write_text_file(path, content);
        EXPECT_EQ(refusal(),
                  "--output: " + path.string() +
                      " exists and was not written by the writer: it stays as it is; choose another "
                      "--output");
        EXPECT_EQ(file_text(path), content);
    }
}

TEST_F(OutputFile, RejectsFilesThatTheCommandNeedsUnderAnyName) {
    write_text_file(path, "ours");
    std::filesystem::create_hard_link(path, folder.path() / "input");
    for (const auto& needed : {path, folder.path() / "input", folder.path() / "." / "out.txt"})
        EXPECT_NE(refusal({needed}).find("would replace " + needed.string()), std::string::npos);
}

TEST_F(OutputFile, RejectsPathsWhereNoFileCanBe) {
    path = folder.path() / "missing" / "out.txt";
    EXPECT_NE(refusal().find("there is no folder"), std::string::npos);
    path = folder.path();
    EXPECT_NE(refusal().find("not a regular file"), std::string::npos);
    path = "/dev/null";
    EXPECT_NE(refusal().find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace voltpile
