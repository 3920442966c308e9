// Templates of command lines.
#include "command/text_template.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace voltpile::command {
namespace {

std::string filled(const char* text, const TemplateValues& values) {
    return TextTemplate(text).fill(values);
}

std::string template_complaint(const char* text) {
    try {
        TextTemplate{text};
    } catch (const JobError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(TextTemplates, ReplaceNamesAndKeepTheRest) {
    EXPECT_EQ(filled("--x={x} {{x}} {x}{y}", {{"x", 0.1}, {"y", std::string("b")}}), "--x=0.1 {x} 0.1b");
    EXPECT_EQ(filled("", {}), "");
    EXPECT_EQ(TextTemplate("{b}-{a:.3f}-{b}").names(), (std::set<std::string>{"a", "b"}));
}

// Expected values: Python's format().
TEST(TextTemplates, FormatNumbersAsPythonDoes) {
    const TemplateValues values{{"x", 2.0 / 3}, {"n", std::int64_t{42}}, {"tiny", 1e-7}};
    EXPECT_EQ(filled("{x:.3f} {x:e} {n:05d} {n:.1f} {tiny}", values), "0.667 6.666667e-01 00042 42.0 1e-07");
    EXPECT_EQ(filled("{x:d}", values), "1");
    EXPECT_THROW(filled("{n:q}", values), JobError);
}

TEST(TextTemplates, RefuseBracesThatDoNotMatch) {
    EXPECT_EQ(template_complaint("{x"), "a { without its }; write {{ for a brace");
    EXPECT_EQ(template_complaint("x}"), "a } without its {; write }} for a brace");
    EXPECT_EQ(template_complaint("{1x}"), "{1x} is not a name; write {{ and }} for braces");
    EXPECT_EQ(template_complaint("{}"), "{} is not a name; write {{ and }} for braces");
}

}  // namespace
}  // namespace voltpile::command
