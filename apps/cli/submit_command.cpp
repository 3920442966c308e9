#include "cluster/slurm/submit.h"

#include <memory>

#include "cli/command.h"

namespace voltpile::cli {
namespace {

void add_options(CLI::App& submit, SubmitRequest& request) {
    submit
        .add_option("--output", request.run.output,
                    "result file, where all nodes see it [results/<job name>.h5]")
        ->type_name("FILE")
        ->check(some_name());
    submit
        .add_option("--nodes", request.nodes, "how many [as few as finish within --time, or within an hour]")
        ->check(CLI::PositiveNumber);
    submit
        .add_option("--tasks-per-node", request.tasks_per_node,
                    "ranks on each [one a GPU; without GPUs one a socket]")
        ->check(CLI::PositiveNumber);
    submit
        .add_option("--gpus-per-node", request.gpus_per_node,
                    "0: compute on CPUs [as many as the nodes have]")
        ->check(CLI::NonNegativeNumber);
    submit.add_option("--time", request.time,
                      "limit of one life, e.g. 30, 2:00:00, 1-12 [from the estimate]");
    submit.add_option("--partition", request.partition, "[Slurm's default]")->type_name("NAME");
    submit.add_option("--account", request.account)->type_name("NAME");
    submit.add_option("--qos", request.qos)->type_name("NAME");
    submit.add_option("--dependency", request.dependency, "e.g. afterok:12")->type_name("LIST");
    submit.add_option("--array", request.array, "as so many jobs, each a share of the sweep, one result")
        ->check(CLI::PositiveNumber)
        ->type_name("K");
    submit
        .add_option("--cluster", request.cluster, "how fast the nodes are, e.g. data/clusters/t181_x3.toml")
        ->type_name("FILE")
        ->check(some_name());
    submit.add_option("--env", request.environment, "sourced before the launcher, e.g. slurm/env/lmod.sh")
        ->type_name("FILE")
        ->check(some_name());
    submit.add_option("--launcher", request.launcher, "inside the job [srun if it speaks pmix]")
        ->check(CLI::IsMember({"srun", "mpirun"}));
    submit.add_flag("--dry-run", request.dry_run, "print the batch script and submit nothing");
    submit.add_option("SBATCH_OPTIONS", request.sbatch_options,
                      "after --: further options of sbatch, as they are");
}

}  // namespace

void add_submit(CLI::App& cli, Action& action) {
    CLI::App* submit =
        cli.add_subcommand("submit", "put a job into Slurm's queue, with all that it needs worked out");
    auto request = std::make_shared<SubmitRequest>();
    add_job_options(*submit, request->run);
    add_options(*submit, *request);
    submit->footer(
        "It refuses what cannot fit before anything reaches the queue. The job stops before its time limit "
        "and when\n"
        "it is preempted, goes back into the queue by itself and goes on where it was.\n"
        "examples: voltpile submit jobs/threebody/seed_map.toml --nodes 3 --dry-run | sbatch --test-only\n"
        "          voltpile submit jobs/threebody/seed_map.toml --array 4 -- --constraint=v100");
    submit->callback([request, &action] {
        action = on_first_rank([request](const Invocation& invocation) {
            voltpile::submit(*request, invocation.apps);
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
