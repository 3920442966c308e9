#include "cluster/supervisor/start_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/shell_quote.h"
#include "cluster/hosts/mpirun.h"
#include "cluster/slurm/allocation.h"
#include "cluster/supervisor/rank_output.h"

using namespace voltpile;

namespace {

StartNode start_node(const std::string& name, int ranks, bool here = false) {
    StartNode node;
    node.host.name = name;
    node.host.slots = ranks;
    node.here = here;
    node.cores = 4;
    return node;
}

std::string text_of_shipped(const char* name) {
    std::ifstream in(std::string(VOLTPILE_SOURCE_DIR "/") + name);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST(StartCommand, MpirunGetsHostsMarkAndSettings) {
    const std::vector<StartNode> nodes{start_node("a", 4), start_node("b", 2)};
    const StartCommand command = start_command(Starter::Mpirun, nodes, "/hosts",
                                               {"/bin/voltpile", "run", "my job.toml"}, "0123456789abcdef");
    EXPECT_EQ(
        shell_command_line(command.words),
        "/bin/sh -c 'exec \"$@\" 2>&1' sh mpirun --hostfile /hosts -np 6 --tag-output -x VOLTPILE_LAUNCH -x "
        "VOLTPILE_LOG_FOLDER /bin/voltpile run 'my job.toml'");
    EXPECT_EQ(command.environment.at("VOLTPILE_LAUNCH"), "0123456789abcdef");
    EXPECT_EQ(command.environment.at("OMPI_MCA_voltpile_launch"), "0123456789abcdef");
    EXPECT_FALSE(command.environment.contains("OMPI_MCA_mpi_yield_when_idle"));
    const std::vector<StartNode> crowded{start_node("a", 5)};
    EXPECT_EQ(start_command(Starter::Mpirun, crowded, "/hosts", {"x"}, "")
                  .environment.at("OMPI_MCA_mpi_yield_when_idle"),
              "1");
}

TEST(StartCommand, OneRankHereNeedsNoLauncher) {
    const std::vector<StartNode> here{start_node("a", 1, true)}, there{start_node("a", 1)};
    EXPECT_TRUE(starts_alone(here));
    EXPECT_FALSE(starts_alone(there));
    EXPECT_EQ(shell_command_line(start_command(Starter::Mpirun, here, "", {"x", "run"}, "").words),
              "/bin/sh -c 'exec \"$@\" 2>&1' sh x run");
}

TEST(StartCommand, SrunGetsTheNodesThatAreLeft) {
    const std::vector<StartNode> nodes{start_node("a", 2), start_node("c", 2)};
    const std::vector<std::string> words = start_command(Starter::Srun, nodes, "", {"x"}, "").words;
    for (const char* wanted :
         {"--mpi=pmix", "--overlap", "--nodes=2", "--nodelist=a,c", "--ntasks=4", "--ntasks-per-node=2"})
        EXPECT_NE(std::ranges::find(words, wanted), words.end()) << wanted;
}

// People copy the keepalive settings from the documentation, and the batch script repeats them.
TEST(StartCommand, DocumentedSettingsAreThoseOfTheProgram) {
    const Environment settings = mpirun_settings({});
    int seen = 0;
    for (const auto& [name, value] : settings) {
        const std::string prefix = "OMPI_MCA_oob_tcp_";
        if (!name.starts_with(prefix)) continue;
        ++seen;
        const std::string option = "--mca " + name.substr(9) + " " + value;
        EXPECT_NE(text_of_shipped("docs/cluster.md").find(option), std::string::npos) << option;
        EXPECT_NE(text_of_shipped("slurm/run.sbatch").find(option), std::string::npos) << option;
    }
    EXPECT_EQ(seen, 3);
}

TEST(RankOutput, TellsRanksAndStreamsApart) {
    const RankLine out = parse_rank_line("[1,13]<stdout>:  1 : 2");
    EXPECT_EQ(out.rank, 13);
    EXPECT_FALSE(out.is_error);
    EXPECT_EQ(out.text, "  1 : 2");
    const RankLine error = parse_rank_line("[1,0]<stderr>:no space left");
    EXPECT_EQ(error.rank, 0);
    EXPECT_TRUE(error.is_error);
    EXPECT_EQ(parse_rank_line(" 7: hello").rank, 7);
    EXPECT_EQ(parse_rank_line(" 7: hello").text, "hello");
    for (const char* own : {"[node1:312] PMIX ERROR", "srun: error: Node failure on node2", "", "[1,",
                            "[1,2]<x>:y", "12 of 20"}) {
        EXPECT_FALSE(parse_rank_line(own).rank) << own;
        EXPECT_EQ(parse_rank_line(own).text, own);
    }
}

TEST(Allocation, ReadsTasksPerNode) {
    EXPECT_EQ(least_tasks_per_node("4"), 4);
    EXPECT_EQ(least_tasks_per_node("4(x3)"), 4);
    EXPECT_EQ(least_tasks_per_node("4(x2),3,16(x7)"), 3);
    for (const char* wrong : {"", "x", "0", "4(x2),"}) EXPECT_LE(least_tasks_per_node(wrong), 4) << wrong;
    EXPECT_EQ(least_tasks_per_node("0"), 0);
}
