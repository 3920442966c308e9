// Templates that try to hang, to crash or to take all memory end with a message.
#include <gtest/gtest.h>

#include "job_error_text.h"
#include "llm/chat/jinja/template.h"

namespace voltpile::llm::jinja {
namespace {

std::string repeated_text(std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
}

std::string error_of(const std::string& source) {
    const std::string hundred(100, 'a');
    const Entries variables{{"text", hundred}, {"messages", Value::list({Value::map({{"role", "user"}})})}};
    return message_of([&] { Template(source, "m").render(variables, 0); });
}

constexpr const char* kTooMuch = "it takes too many steps or too much memory";
constexpr const char* kTooDeep = "nested too deeply";

TEST(JinjaLimits, StopsEndlessWork) {
    for (const char* source : {
             "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
             "{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}",
             "{{ 'x' * 9223372036854775807 }}",
             "{{ [1] * 4611686018427387904 }}",
             "{% set n = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s "
             "%}{% endfor %}",
             "{% set n = namespace(s=[1, 2]) %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
             "{% set n = namespace(s='xx') %}{% for i in range(60) %}{% set n.s = n.s | replace('x', 'xxxx') "
             "%}{% endfor %}",
             "{% set n = namespace(s='xx') %}{% for i in range(60) %}{% set n.s = n.s.join([n.s, n.s, n.s]) "
             "%}{% endfor %}",
             "{% set n = namespace(s='xx') %}{% for i in range(60) %}{% set n.s = '%s%s' % (n.s, n.s) %}{% "
             "endfor %}",
             "{% set n = namespace(s='xx') %}{% for i in range(60) %}{% set n.s = '{0}{0}'.format(n.s) %}{% "
             "endfor %}",
             "{% set n = namespace(s='xx') %}{% for i in range(60) %}{% set n.s = [n.s, n.s] | tojson %}{% "
             "endfor %}",
             "{% set n = namespace(s=[]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ "
             "n.s }}",
             "{% set n = namespace(s=[]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ "
             "n.s | tojson }}",
             "{% set n = namespace(s=[], t=[]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% set "
             "n.t = [n.t, n.t] %}"
             "{% endfor %}{{ n.s == n.t }}",
             "{{ text | center(9223372036854775807) }}",
             "{{ [1] | batch(4611686018427387904, 0) | list }}",
             "{{ [1] | slice(4611686018427387904) | list }}",
             "{% macro m() %}{% for i in range(9) %}{{ caller() }}{% endfor %}{% endmacro %}"
             "{% for i in range(100000) %}{% call m() %}{% call m() %}{% call m() %}x{% endcall %}{% endcall "
             "%}{% endcall %}{% endfor %}",
         })
        EXPECT_NE(error_of(source).find(kTooMuch), std::string::npos) << source << ": " << error_of(source);
}

TEST(JinjaLimits, StopsDeepRecursion) {
    const std::string brackets = repeated_text("(", 100'000) + "a" + repeated_text(")", 100'000);
    const std::string lists = repeated_text("[", 100'000) + repeated_text("]", 100'000);
    for (const std::string& source : {
             std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
             std::string("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
             std::string("{% set n = namespace() %}{% set n.n = n %}{{ n }}"),
             std::string(
                 "{% set n = namespace(s=[]) %}{% for i in range(1000) %}{% set n.s = [n.s] %}{% endfor %}"),
             std::string("{% set n = namespace(s={}) %}{% for i in range(1000) %}{% set n.s = {'a': n.s} "
                         "%}{% endfor %}"),
             std::string("{% set n = namespace(s={}) %}{% for i in range(1000) %}{% set n.s = {'a': n.s.get} "
                         "%}{% endfor %}"),
             std::string("{% set n = namespace(s=1) %}{% for i in range(1000) %}{% set n.s = cycler(n.s) "
                         "%}{% endfor %}"),
             std::string("{% set n = namespace(s='') %}{% for i in range(1000) %}{% set n.s = joiner(n.s) "
                         "%}{% endfor %}"),
             "{{ " + brackets + " }}",
             "{{ " + lists + " }}",
             "{{ " + repeated_text("not ", 100'000) + "1 }}",
             "{{ " + repeated_text("- ", 100'000) + "1 }}",
             "{{ 1" + repeated_text(" + 1", 100'000) + " }}",
             "{{ a" + repeated_text(".a", 100'000) + " }}",
             "{{ a" + repeated_text("|e", 100'000) + " }}",
             "{{ 1" + repeated_text(" if 1 else 1", 50'000) + " }}",
             repeated_text("{% if 1 %}", 50'000),
             "{% for " + brackets + " in x %}{% endfor %}",
         })
        EXPECT_NE(error_of(source).find(kTooDeep), std::string::npos)
            << source.substr(0, 80) << ": " << error_of(source);
}

TEST(JinjaLimits, RefusesSizesAtOnce) {
    EXPECT_NE(error_of("{{ range(100001) }}").find("more than 100000 elements"), std::string::npos);
    EXPECT_NE(error_of("{{ '%999999999999d' % 1 }}").find("too large"), std::string::npos);
    EXPECT_NE(error_of("{{ '{:999999999}'.format(1) }}").find("too large"), std::string::npos);
    EXPECT_NE(error_of("{{ 'a' | indent(999999999) }}").find("too large"), std::string::npos);
    EXPECT_NE(error_of("{{ 2 ** 99999999 }}").find("out of range"), std::string::npos);
    EXPECT_NE(error_of(std::string((1 << 20) + 1, 'x')).find("more than 1048576 bytes"), std::string::npos);
}

// As in Jinja's sandbox: there is no path from a value to anything but values.
TEST(JinjaLimits, HidesWhatIsNotData) {
    for (const char* name : {"__class__", "__init__", "__globals__"})
        EXPECT_NE(error_of(std::string("{{ text.") + name + ".x }}").find("is unsafe"), std::string::npos);
    for (const char* source : {"{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}"})
        EXPECT_NE(error_of(source).find("unknown tag"), std::string::npos) << source;
}

// Values may outlive the scopes that they come from.
TEST(JinjaLimits, KeepsWhatMacrosAndLoopsLeaveBehind) {
    const auto text_of = [](const char* source) { return Template(source, "m").render({}, 0); };
    EXPECT_EQ(text_of("{% set n = namespace() %}{% for i in [1, 2] %}{% set x = i %}{% macro m() %}{{ x }}{% "
                      "endmacro %}"
                      "{% set n.m = m %}{% set n.l = loop %}{% set n.c = loop.changed %}{% endfor %}{{ n.m() "
                      "}}{{ n.l.index }}"),
              "22");
    EXPECT_NE(error_of("{% set n = namespace() %}{% for i in [1] %}{% set n.c = loop.changed %}{% endfor "
                       "%}{{ n.c(n.c) }}")
                  .find("after its loop"),
              std::string::npos);
}

}  // namespace
}  // namespace voltpile::llm::jinja
