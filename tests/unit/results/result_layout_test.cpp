#include "results/result_layout.h"

#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

JobSpec job(const std::string& axis_name) {
    KeySpec key;
    key.path = "system.mass";
    key.unit = "kg";
    key.default_value = Reals{1.0};
    key.sweepable = true;
    key.help = "mass of the body";
    AppSchema app;
    app.name = "tiny";
    app.summary = "for this test";
    app.keys = {key};
    const std::string text = "app = \"tiny\"\n[[sweep]]\nparameter = \"mass\"\nname = \"" + axis_name +
                             "\"\nfrom = 1.0\nto = 2.0\ncount = 10\n";
    return parse_job(text, "jobs/tiny.toml", std::vector<std::string>{"sweep." + axis_name + ".count=7"},
                     std::vector<AppSchema>{app});
}

TEST(ResultLayout, CopiesTheJob) {
    const JobSpec spec = job("m");
    const FieldDimension body{"body", {"1", "2", "3"}};
    const ResultLayout layout =
        make_layout(spec, {field("steps", FieldType::Int32), field("state", FieldType::Float64, {body}),
                           field("other", FieldType::Float32, {body})});
    EXPECT_EQ(layout.app, "tiny");
    EXPECT_EQ(layout.job_path, "jobs/tiny.toml");
    EXPECT_EQ(layout.job_text, spec.text());
    EXPECT_EQ(layout.job_overrides, (std::vector<std::string>{"sweep.m.count=7"}));
    EXPECT_EQ(layout.fingerprint, spec.fingerprint());
    ASSERT_EQ(layout.axes.size(), 1u);
    EXPECT_EQ(layout.axes[0].name, "m");
    EXPECT_EQ(layout.whole(), (WorkRange{0, 7}));
    EXPECT_EQ(layout.bytes_per_point(), 4 + 3 * 8 + 3 * 4);
}

TEST(ResultLayout, IsOnePointWithoutAxes) {
    EXPECT_EQ(layout_of({}, {}).point_count(), 1);
}

// All of them are datasets of one file.
TEST(ResultLayout, RejectsADuplicateName) {
    const FieldDimension body{"body", {"1", "2", "3"}};
    const auto refusal = [&](const std::string& axis_name) {
        return error_of([&] {
            make_layout(job(axis_name),
                        {field("steps", FieldType::Int32), field("state", FieldType::Float64, {body})});
        });
    };
    for (const char* taken : {"steps", "body", "check", "plan"}) {
        const auto [message, code] = refusal(taken);
        EXPECT_EQ(code, ExitCode::BadInput);
        EXPECT_NE(message.find("jobs/tiny.toml: the name \"" + std::string(taken) + "\""), std::string::npos)
            << message;
    }
    EXPECT_EQ(refusal("m").first, "");
}

TEST(ResultLayout, RejectsFieldsThatDisagreeOnADimension) {
    EXPECT_THROW(make_layout(job("m"), {field("a", FieldType::Int32, {{"body", {"1", "2"}}}),
                                        field("b", FieldType::Int32, {{"body", {"1", "2", "3"}}})}),
                 std::logic_error);
}

}  // namespace
}  // namespace voltpile
