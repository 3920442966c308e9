#include "base/shell_quote.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

namespace voltpile {
namespace {

// What /bin/sh makes of the words of a command line.
std::vector<std::string> words_of_sh(const std::string& line) {
    std::FILE* const pipe = popen(("printf '%s\\0' " + line).c_str(), "r");
    if (pipe == nullptr) return {};
    std::vector<std::string> words(1);
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        if (c == 0)
            words.emplace_back();
        else
            words.back() += static_cast<char>(c);
    }
    pclose(pipe);
    words.pop_back();  // behind the last zero
    return words;
}

TEST(ShellQuote, LeavesPlainWordsUnchanged) {
    EXPECT_EQ(shell_quote("integrate.steps=5000"), "integrate.steps=5000");
    EXPECT_EQ(shell_quote("/opt/voltpile-1.0"), "/opt/voltpile-1.0");
}

TEST(ShellQuote, QuotesTheRest) {
    EXPECT_EQ(shell_quote("a b"), "'a b'");
    EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_quote(""), "''");
    EXPECT_EQ(shell_quote("$x"), "'$x'");
}

TEST(ShellQuote, ShellReadsBackEveryWord) {
    std::vector<std::string> words{
        "",      "it's",     "'",      "a b",   "a\tb",     "a\nb\n", "\"quoted\"",
        "$HOME", "`id`",     "\\",     "a\\'b", "*",        "?[a]",   "~",
        "{a,b}", "x; y & z", "<in>|o", "#no",   "!",        "-n",     "\xc3\xa9\xff",
        "a=b",   "%s",       "(x)",    "'\\''", "a'b'c''d", "^"};
    for (int c = 1; c < 256; ++c) words.emplace_back(1, static_cast<char>(c));
    EXPECT_EQ(words_of_sh(shell_command_line(words)), words);
}

}  // namespace
}  // namespace voltpile
