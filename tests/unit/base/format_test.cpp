#include "base/format.h"

#include <gtest/gtest.h>

#include <limits>

using namespace voltpile;

TEST(Format, FormatsBytesInPowersOfThousand) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(999), "999 B");
    EXPECT_EQ(bytes_text(1000), "1.0 kB");
    EXPECT_EQ(bytes_text(12.34e6), "12.3 MB");
    EXPECT_EQ(bytes_text(999.9e6), "1.0 GB");
    EXPECT_EQ(bytes_text(4e9), "4.0 GB");
}

TEST(Format, FormatsDurations) {
    EXPECT_EQ(duration_text(0.4234), "0.42 s");
    EXPECT_EQ(duration_text(59.7), "60 s");
    EXPECT_EQ(duration_text(185), "3 min 05 s");
    EXPECT_EQ(duration_text(2 * 3600 + 14 * 60), "2 h 14 min");
    EXPECT_EQ(duration_text(76 * 3600), "3 d 04 h");
    EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(Format, FormatsCounts) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1000), "1,000");
    EXPECT_EQ(count_text(-1234567), "-1,234,567");
    EXPECT_EQ(count_text(std::numeric_limits<std::int64_t>::max()), "9,223,372,036,854,775,807");
}
