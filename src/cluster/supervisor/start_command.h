// The command that starts the ranks of an attempt: mpirun, srun, or the program itself for a single rank. The
// one place for their options; docs/launch.md lists them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/process.h"
#include "cluster/hosts/host_file.h"

namespace voltpile {

enum class Starter { Mpirun, Srun };

// A node of an attempt.
struct StartNode {
    HostEntry host;     // with slots: the ranks to start there
    bool here = false;  // the host of this process
    int cores = 0;
};

struct StartCommand {
    std::vector<std::string> words;
    Environment environment;
};

// program_words: `voltpile run JOB ...`. mark: cluster/supervisor/marked_processes.h. host_file: path of a
// host file with these nodes, for mpirun. Each line of output starts with the rank it comes from
// (cluster/supervisor/rank_output.h), except that of a single rank. stderr goes to stdout.
StartCommand start_command(Starter starter, std::span<const StartNode> nodes, const std::string& host_file,
                           const std::vector<std::string>& program_words, const std::string& mark);

// Whether this is one rank on this host, which needs no launcher.
bool starts_alone(std::span<const StartNode> nodes);

// Returns the command that runs an agent on a node of this Slurm allocation, beside the job.
std::vector<std::string> srun_to_node(const std::string& node);

int rank_count(std::span<const StartNode> nodes);

}  // namespace voltpile
