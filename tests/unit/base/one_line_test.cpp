#include "base/one_line.h"

#include <gtest/gtest.h>

namespace voltpile {

TEST(OneLine, TakesPrintableUtf8) {
    for (const char* text : {"", "V100-SXM2", "K\xC3\xB6ln", "\xC2\xA0",
                             "\xC2"
                             "A",
                             "\xE2\x82\xAC", "\xE2\x80\x93", "\xF0\x9F\x98\x80"})
        EXPECT_TRUE(is_one_line(text)) << text;
}

TEST(OneLine, RejectsWhatATerminalObeys) {
    for (const char* text :
         {"a\n", "\x1B[2J", "\x7F", "\xC2\x80", "\xC2\x9B", "\xE2\x80\xA8", "\xE2\x80\xAE", "\xE2\x81\xA6"})
        EXPECT_FALSE(is_one_line(text));
    EXPECT_FALSE(is_one_line(std::string_view("a\0b", 3)));
}

}  // namespace voltpile
