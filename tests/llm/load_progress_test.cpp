#include "llm/replica/load_progress.h"

#include <gtest/gtest.h>

namespace voltpile::llm {
namespace {

TEST(LoadProgress, ShowsBytesShareAndRate) {
    EXPECT_EQ(loading_text(6e9, 12e9, 2), "loading 6.0 GB of 12.0 GB a rank  50 %  3.0 GB/s");
    // The share is at most 100 %, and without time there is no rate.
    EXPECT_EQ(loading_text(2e9, 1e9, 0), "loading 2.0 GB of 1.0 GB a rank  100 %  0 B/s");
    EXPECT_EQ(loading_text(0, 0, 1), "loading 0 B of 0 B a rank  100 %  0 B/s");
}

}  // namespace
}  // namespace voltpile::llm
