#include "cluster/supervisor/start_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "cluster/hosts/mpirun.h"
#include "cluster/supervisor/marked_processes.h"
#include "run/watchdog.h"

namespace voltpile {
namespace {

bool more_ranks_than_cores(std::span<const StartNode> nodes) {
    return std::ranges::any_of(
        nodes, [](const StartNode& node) { return node.cores > 0 && node.host.slots > node.cores; });
}

std::vector<std::string> mpirun_words(std::span<const StartNode> nodes, const std::string& host_file) {
    return {"mpirun",       "--hostfile", host_file,   "-np", std::to_string(rank_count(nodes)),
            "--tag-output", "-x",         kLaunchMark, "-x",  kLogFolderVariable};
}

// No -K: it kills the step when the first rank exits with an error, but ranks of a stopped job exit with 5
// one after the other. --wait ends ranks that a killed one leaves behind. --overlap: the agents are steps
// too.
std::vector<std::string> srun_words(std::span<const StartNode> nodes) {
    std::vector<std::string> names;
    for (const StartNode& node : nodes) names.push_back(node.host.name);
    std::vector<std::string> words{"srun",
                                   "--mpi=pmix",
                                   "--overlap",
                                   "--label",
                                   "--kill-on-bad-exit=0",
                                   "--wait=10",
                                   fmt::format("--nodes={}", nodes.size()),
                                   fmt::format("--nodelist={}", fmt::join(names, ",")),
                                   fmt::format("--ntasks={}", rank_count(nodes)),
                                   fmt::format("--ntasks-per-node={}", nodes.front().host.slots)};
    // srun does not inherit this option from sbatch.
    if (const char* cpus = std::getenv("SLURM_CPUS_PER_TASK"))
        words.push_back(fmt::format("--cpus-per-task={}", cpus));
    return words;
}

}  // namespace

int rank_count(std::span<const StartNode> nodes) {
    int ranks = 0;
    for (const StartNode& node : nodes) ranks += node.host.slots;
    return ranks;
}

bool starts_alone(std::span<const StartNode> nodes) {
    return nodes.size() == 1 && nodes.front().here && nodes.front().host.slots == 1;
}

StartCommand start_command(Starter starter, std::span<const StartNode> nodes, const std::string& host_file,
                           const std::vector<std::string>& program_words, const std::string& mark) {
    StartCommand command;
    command.environment = mpirun_settings({.ranks_share_cores = more_ranks_than_cores(nodes)});
    command.environment[kLaunchMark] = mark;
    command.environment[kLaunchMarkParameter] = mark;
    std::vector<std::string> launcher;
    if (starter == Starter::Srun)
        launcher = srun_words(nodes);
    else if (!starts_alone(nodes))
        launcher = mpirun_words(nodes, host_file);
    command.words = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
    command.words.insert(command.words.end(), launcher.begin(), launcher.end());
    command.words.insert(command.words.end(), program_words.begin(), program_words.end());
    return command;
}

std::vector<std::string> srun_to_node(const std::string& node) {
    return {"srun",      "--overlap",  "--mpi=none",          "--immediate=5",
            "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--nodelist=" + node};
}

}  // namespace voltpile
