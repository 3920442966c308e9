#include "base/lazy_library.h"

#include <gtest/gtest.h>

#include "base/error.h"

using namespace voltpile;

namespace {

std::string message_of(LazyLibrary& library, const char* function) {
    try {
        library.find<double(double)>(function);
    } catch (const MachineError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST(LazyLibrary, FindsFunctions) {
    LazyLibrary library("libm.so.6", "/missing/libm.so.6");
    ASSERT_TRUE(library.loads());
    EXPECT_EQ(library.find<double(double)>("sqrt")(9), 3);
}

TEST(LazyLibrary, FallsBackToTheFileOfTheBuild) {
    LazyLibrary library("libmissing.so.1", "libm.so.6");
    EXPECT_EQ(library.find<double(double)>("sqrt")(9), 3);
}

TEST(LazyLibrary, NamesTheMissingLibrary) {
    LazyLibrary library("libmissing.so.1", "/missing/libmissing.so.1");
    EXPECT_FALSE(library.loads());
    EXPECT_TRUE(message_of(library, "sqrt").starts_with("cannot load libmissing.so.1: "))
        << message_of(library, "sqrt");
}

TEST(LazyLibrary, NamesTheMissingFunction) {
    LazyLibrary library("libm.so.6", "");
    EXPECT_EQ(
        message_of(library, "no_such_function"),
        "libm.so.6 has no function no_such_function: install the version that this program was built with");
}
