#include <gtest/gtest.h>

#include "base/error.h"
#include "base/process.h"
#include "base/shell_quote.h"
#include "cluster/slurm/script.h"
#include "unit/cluster/slurm_submit_fixtures.h"

using namespace voltpile;
using namespace voltpile::testing;

namespace {

const SubmitPaths plain_paths{"/opt/voltpile", "/home/a", "/home/a/results/map.h5"};

std::string script_for(SubmitRequest request, const SubmitPaths& paths = plain_paths,
                       const std::string& keys = "") {
    if (request.run.job_path.empty()) request.run.job_path = "jobs/map.toml";
    return batch_script(plan_for(request, t181_cluster(), keys), request, paths);
}

bool has_line(const std::string& script, const std::string& line) {
    return script.find("\n" + line + "\n") != std::string::npos;
}

void expect_valid(const std::string& script) {
    const ProcessResult syntax = run_process({{"bash", "-n"}, script, {}, std::chrono::seconds(20)});
    EXPECT_TRUE(syntax.succeeded()) << syntax.err;
    if (!find_program("shellcheck")) return;
    const ProcessResult style = run_process({{"shellcheck", "-"}, script, {}, std::chrono::seconds(60)});
    EXPECT_TRUE(style.succeeded()) << style.out;
}

}  // namespace

TEST(SlurmScript, RequestsWhatThePlanSays) {
    SubmitRequest request;
    request.nodes = 3;
    const std::string script = script_for(request);
    EXPECT_TRUE(script.starts_with("#!/bin/bash\n#SBATCH "));
    for (const char* line :
         {"#SBATCH --job-name=b", "#SBATCH --partition=main", "#SBATCH --nodes=3",
          "#SBATCH --ntasks-per-node=4", "#SBATCH --cpus-per-task=8", "#SBATCH --gpus-per-node=4",
          "#SBATCH --requeue", "#SBATCH --open-mode=append", "#SBATCH --chdir=/home/a",
          "#SBATCH --output=/home/a/results/map-%j.log",
          "#SBATCH --comment=\"voltpile /home/a/results/map.h5\"", "export VOLTPILE=/opt/voltpile",
          "set -- jobs/map.toml --output /home/a/results/map.h5 \"$@\""})
        EXPECT_TRUE(has_line(script, line)) << line << "\n" << script.substr(0, 1500);
    EXPECT_NE(script.find("\n#SBATCH --signal=B:USR1@"), std::string::npos);
    EXPECT_NE(script.find("\n#SBATCH --time=00:"), std::string::npos);
    // Every rank sees all GPUs.
    EXPECT_EQ(script.find("--gpus-per-task="), std::string::npos);
    EXPECT_EQ(script.find("--array="), std::string::npos);
    expect_valid(script);
}

TEST(SlurmScript, PassesEveryUserOption) {
    SubmitRequest request;
    request.array = 8;
    request.account = "physics";
    request.qos = "normal";
    request.dependency = "afterok:12:13";
    request.launcher = "mpirun";
    request.environment = "/home/a/env.sh";
    request.run.overrides = {"sweep.x.count=100", "output.fields=[\"a b\"]"};
    request.sbatch_options = {"--constraint=v100|a100", "-x", "node 7"};
    const std::string script = script_for(request, plain_paths, "device = \"cpu\"");
    for (const char* line :
         {"#SBATCH --array=0-7", "#SBATCH --output=/home/a/results/map-%A_%a.log",
          "#SBATCH --account=physics", "#SBATCH --qos=normal", "#SBATCH --dependency=afterok:12:13",
          "#SBATCH \"--constraint=v100|a100\" -x \"node 7\"", "export VOLTPILE_LAUNCHER=mpirun",
          "export VOLTPILE_ENV=/home/a/env.sh",
          "set -- jobs/map.toml --output /home/a/results/map.h5 --set sweep.x.count=100 --set "
          "'output.fields=[\"a b\"]' \"$@\""})
        EXPECT_TRUE(has_line(script, line)) << line << "\n" << script.substr(0, 1800);
    EXPECT_EQ(script.find("--gpus-per-node="), std::string::npos);
    expect_valid(script);
}

TEST(SlurmScript, PutsAllDirectivesBeforeCommands) {
    const std::string script = script_for({});
    EXPECT_LT(script.rfind("\n#SBATCH"), script.find("\nexport VOLTPILE="));
}

TEST(SlurmScript, BodyMatchesSourceTree) {
    const ProcessResult file =
        run_process({{"cat", VOLTPILE_SOURCE_DIR "/slurm/run.sbatch"}, "", {}, std::chrono::seconds(20)});
    EXPECT_EQ(run_sbatch_text(), file.out);
    const std::string script = script_for({});
    const std::string from = "\nset -u\n";
    EXPECT_EQ(script.substr(script.find(from)), file.out.substr(file.out.find(from)));
}

TEST(SlurmScript, QuotesArguments) {
    for (const std::string word : {"plain", "a b", "it's", "\"quoted\"", "$HOME `id` $(id)", "back\\slash",
                                   "*?[a]", "", "#", "~", "ü", "!x", "{a,b}", "a;b&c|d>e<f", "-n"}) {
        const ProcessResult echoed = run_process(
            {{"bash", "-c",
              "printf %s \"$1\"; : ; set -- " + shell_quote(word) + "; printf '|%s|%s' $# \"$1\""},
             "",
             {},
             std::chrono::seconds(20)});
        EXPECT_EQ(echoed.out, "|1|" + word);
    }
}

TEST(SlurmScript, RejectsNewlines) {
    SubmitRequest request;
    request.account = "a\n#SBATCH --nice";
    EXPECT_THROW(script_for(request), JobError);
    request = {};
    request.run.overrides = {"a=\n"};
    EXPECT_THROW(script_for(request), JobError);
    request = {};
    request.sbatch_options = {"a\r"};
    EXPECT_THROW(script_for(request), JobError);
}

TEST(SlurmScript, CommentEncodesResultPath) {
    EXPECT_EQ(result_of_comment(job_comment("/a b/c.h5")), "/a b/c.h5");
    for (const char* other : {"", "voltpile", "voltpile ", "voltpiles /a", "my voltpile /a", "(null)"})
        EXPECT_EQ(result_of_comment(other), "") << other;
}

TEST(SlurmScript, PutsLogsBesideTheResult) {
    const SubmitPaths paths{"/v", "/", "/data/100%/map.v2.h5"};
    EXPECT_EQ(paths.log_pattern(false), "/data/100%%/map.v2-%j.log");
    EXPECT_EQ(paths.log_of("12", false), "/data/100%/map.v2-12.log");
    EXPECT_THROW((SubmitPaths{"/v", "/", "/data/back\\slash.h5"}.log_pattern(false)), JobError);
    EXPECT_EQ(paths.log_pattern(true), "/data/100%%/map.v2-%A_%a.log");
}

TEST(SlurmScript, OfAServiceNamesItsAddressFileAndNoOutput) {
    const SubmitPaths paths{"/opt/voltpile", "/home/a", "/home/a/results/lab.address", true};
    const std::string script = script_for({}, paths);
    for (const char* line : {"#SBATCH --output=/home/a/results/lab-%j.log", "set -- jobs/map.toml \"$@\"",
                             "#SBATCH --comment=\"voltpile /home/a/results/lab.address\"",
                             "export VOLTPILE_ADDRESS=/home/a/results/lab.address"})
        EXPECT_TRUE(has_line(script, line)) << line;
    expect_valid(script);
}
