// What is read from the output of a program.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "command/command_app.h"
#include "command/keys.h"
#include "command/output_pattern.h"
#include "command/outputs.h"
#include "command/progress_patterns.h"
#include "command/run_record.h"
#include "results/rows.h"

namespace voltpile::command {
namespace {

using Groups = std::vector<std::string>;

JobSpec job_with(const std::string& tables) {
    const std::array schemas{command_schema()};
    return parse_job("app = \"command\"\n[command]\nargv = [\"true\"]\n" + tables, "job.toml", {}, schemas);
}

std::string complaint_about(const std::string& tables) {
    try {
        job_with(tables);
    } catch (const JobError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(OutputPatterns, FindTheLastMatch) {
    EXPECT_EQ(OutputPattern("^a (\\d)$").last_match("a 1\nb 2\na 3\nba 4\n"), Groups{"3"});
    EXPECT_EQ(OutputPattern("a+").last_match("a aaa b"), Groups{"aaa"});
    EXPECT_EQ(OutputPattern("(a)|(b)").last_match("a b"), (Groups{"", "b"}));
    EXPECT_EQ(OutputPattern("a").last_match("b"), std::nullopt);
    EXPECT_THROW(OutputPattern("a("), JobError);
}

TEST(Outputs, ComeFromTextAndJson) {
    const JobSpec job = job_with(
        "[output.regex]\nv = 'v (\\S+)'\n[output.json]\nn = '/a/0'\nt = '/b'\n[output.type]\nn = 'integer'\n"
        "t = 'text'\n");
    const Extracted found = Outputs(job).extract({"v 1.5\n{\"a\": [7], \"b\": \"w\"}\n", "", std::nullopt});
    EXPECT_TRUE(found.problems.empty());
    EXPECT_EQ(found.values, (std::vector<OutputValue>{std::int64_t{7}, std::string("w"), 1.5}));
}

TEST(Outputs, NameWhatIsMissing) {
    const JobSpec job = job_with("[output.regex]\nv = 'v (\\S+)'\n[output.json]\nn = '/a'\n");
    const Extracted found = Outputs(job).extract({"v x\n{}", "", std::nullopt});
    EXPECT_EQ(found.problems, (Groups{"n: the JSON has no /a", "v: \"x\" is not a real number"}));
    EXPECT_TRUE(std::isnan(std::get<double>(found.values[0])));
}

TEST(ProgressPatterns, KeepTheLastNumberOfEach) {
    ProgressPatterns patterns(
        job_with("[progress]\nloss = 'loss (\\S+)'\nstep = '(\\d+)/(\\d+)'\nnot = 'x(y)'\n"));
    EXPECT_TRUE(patterns.gauges().empty());
    patterns.read("3/10 loss 0.5\n4/10 loss nan?\n");
    patterns.read("nothing");
    patterns.read("5/10");
    const std::vector<Gauge> gauges = patterns.gauges();
    ASSERT_EQ(gauges.size(), 1u);  // the last match of `loss` is no number
    EXPECT_EQ(gauges[0], (Gauge{"step", "of 10", Gauge::Kind::Mean, 5}));
    EXPECT_EQ(patterns.unmatched(), (Groups{"loss", "not"}));
}

TEST(CommandJobs, RefuseKeysThatDoNotFit) {
    EXPECT_NE(complaint_about("[progress]\nstep = 'a('\n").find("job.toml:5: progress.step = 'a('"),
              std::string::npos);
    EXPECT_NE(complaint_about("checkpoint = 'x'\n").find("job.toml:4: command.checkpoint and"),
              std::string::npos);
    EXPECT_NE(complaint_about("stage = ['{rank}']\n").find("command.stage[0] = \"{rank}\""),
              std::string::npos);
    EXPECT_EQ(complaint_about("checkpoint = 'x'\nresume_argv = ['{checkpoint}', '{rank}']\n"), "accepted");
}

TEST(RunRecords, SurviveTheirMessage) {
    RunRecord record;
    record.outcome = Outcome::Ended;
    record.exit_code = 143;
    record.seconds = 1.5;
    record.problem = "was ended";
    record.host = "node2";
    record.values = {0.25, std::int64_t{-3}, std::string("text")};
    const RunRecord copy = run_record_from(to_bytes(record));
    EXPECT_EQ(copy.outcome, Outcome::Ended);
    EXPECT_EQ(copy.exit_code, 143);
    EXPECT_EQ(copy.seconds, 1.5);
    EXPECT_EQ(copy.problem, "was ended");
    EXPECT_EQ(copy.host, "node2");
    EXPECT_EQ(copy.values, record.values);
    EXPECT_THROW(run_record_from(to_bytes(record).substr(0, 20)), CommError);
}

TEST(RunRecords, BecomeOneBufferForEachField) {
    RunRecord first, second;
    first.host = "a";
    first.values = {0.5};
    second.host = "bc";
    second.values = {1.5};
    const auto buffers = to_buffers({first, second}, true);
    EXPECT_EQ(buffers.size(), record_fields(true).size() + 1);
    EXPECT_EQ(buffers[0].size(), 2 * sizeof(std::int32_t));
    EXPECT_EQ(RowsView(buffers[4], 2, 1).length(1), 2);
    EXPECT_EQ(buffers[5].size(), 2 * sizeof(double));
    EXPECT_EQ(to_buffers({first}, false).size(), record_fields(false).size() + 1);
}

}  // namespace
}  // namespace voltpile::command
