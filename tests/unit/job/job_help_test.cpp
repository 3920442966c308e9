#include "job/job_help.h"

#include <gtest/gtest.h>

#include <sstream>

#include "bowl_schema.h"
#include "job/key_table.h"

namespace voltpile::testing {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(JobHelp, DescribesEachKeyCompletely) {
    const auto text = job_help(bowl_schema());
    EXPECT_TRUE(contains(
        text, "[bowl]\n  depth\n      a real number; > 0; unit m; required; can be swept\n      Depth.\n"));
    EXPECT_TRUE(contains(text, "  limit\n      a real number; >= 0, or inf; unit s; default inf\n"));
    EXPECT_TRUE(
        contains(text, "  rounds\n      an integer; >= 1 and <= 100; unit 1; required; can be swept\n"));
    EXPECT_TRUE(contains(text, "  mode\n      a string; one of exact, quick; default \"exact\"\n"));
    EXPECT_TRUE(contains(text, "default [1.0, 2.0]"));
    EXPECT_TRUE(contains(text, "Rolls marbles in a bowl."));
    EXPECT_TRUE(text.ends_with("app = \"bowl\"\n"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(JobHelp, NamesEveryKeyAlsoInMarkdown) {
    const std::vector<AppSchema> apps{bowl_schema()};
    const auto markdown = job_file_markdown(apps);
    const auto help = job_help(apps[0]);
    const KeyTable table(apps[0]);
    for (const auto& spec : table.rows()) {
        const auto key = spec.path.substr(spec.path.rfind('.') + 1);
        EXPECT_TRUE(contains(markdown, "| `" + key + "` |")) << key;
        EXPECT_TRUE(contains(help, "\n  " + key + "\n")) << key;
        EXPECT_FALSE(spec.help.empty()) << key;
    }
    EXPECT_TRUE(
        contains(markdown, "| `depth` | a real number | m | required | > 0 | Depth. Can be swept. |\n"));
    EXPECT_TRUE(contains(markdown, "```toml\napp = \"bowl\"\n```\n"));
}

TEST(JobHelp, EscapesBarsInMarkdownTables) {
    std::vector<AppSchema> apps{bowl_schema()};
    apps[0].keys[0].help = "The size |x|.";
    EXPECT_TRUE(contains(job_file_markdown(apps), "| > 0 | The size \\|x\\|. Can be swept. |\n"));
}

TEST(TextWrap, BreaksAtSpaces) {
    EXPECT_EQ(wrap("one two three", 8, 0), "one two\nthree");
    EXPECT_EQ(wrap("one two three", 9, 2), "  one two\n  three");
    EXPECT_EQ(wrap("unbreakable x", 4, 0), "unbreakable\nx");
    EXPECT_EQ(wrap("", 10, 2), "");
}

}  // namespace
}  // namespace voltpile::testing
