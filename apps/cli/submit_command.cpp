#include "cluster/slurm/submit.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"

namespace voltpile::cli {
namespace {

// Beyond any cluster, so that messages name a range that people can read.
constexpr int kMostNodes = 100'000;
constexpr int kMostPerNode = 4096;
constexpr int kMostElements = 4'000'000;  // Slurm's own limit of MaxArraySize

void add_options(CLI::App& submit, SubmitRequest& request) {
    submit
        .add_option("--output", request.run.output,
                    "result file, in a folder that all nodes see [results/<job name>.h5]")
        ->type_name("FILE")
        ->check(some_name());
    submit
        .add_option("--nodes", request.nodes,
                    "number of nodes [as few as finish within --time, or within an hour]")
        ->check(CLI::Range(1, kMostNodes));
    submit
        .add_option("--tasks-per-node", request.tasks_per_node,
                    "ranks on each node [one for each GPU; without GPUs one for each socket]")
        ->check(CLI::Range(1, kMostPerNode));
    submit
        .add_option("--gpus-per-node", request.gpus_per_node,
                    "GPUs on each node; 0 computes on CPUs [as many as the nodes have]")
        ->check(CLI::Range(0, kMostPerNode));
    submit.add_option("--time", request.time,
                      "time limit until the job is requeued: 30, 2:00:00, 1-12 [from the estimate]");
    submit.add_option("--partition", request.partition, "Slurm partition [Slurm's default]")
        ->type_name("NAME");
    submit.add_option("--account", request.account, "Slurm account [the user's default]")->type_name("NAME");
    submit.add_option("--qos", request.qos, "Slurm quality of service [the account's default]")
        ->type_name("NAME");
    submit.add_option("--dependency", request.dependency, "start after other jobs, such as afterok:12")
        ->type_name("LIST");
    submit
        .add_option("--array", request.array,
                    "submit K jobs, each with a share of the sweep; they write one result")
        ->check(CLI::Range(1, kMostElements))
        ->type_name("K");
    submit
        .add_option(
            "--cluster", request.cluster,
            "description of the nodes' speed: a file, or the name of an installed one, such as t181_x3")
        ->type_name("FILE")
        ->transform(shipped_file("data/clusters"))
        ->check(some_name());
    submit
        .add_option(
            "--env", request.environment,
            "script to source before the launcher: a file, or the name of an installed one, such as lmod")
        ->type_name("FILE")
        ->transform(shipped_file("slurm/env"))
        ->check(some_name());
    submit.add_option("--launcher", request.launcher, "launcher inside the job [srun if it supports PMIx]")
        ->check(CLI::IsMember({"srun", "mpirun"}));
    submit.add_flag("--dry-run", request.dry_run, "print the batch script, submit nothing");
    submit.add_option("SBATCH_OPTIONS", request.sbatch_options,
                      "after --: further options for sbatch, passed unchanged");
}

}  // namespace

void add_submit(CLI::App& cli, Action& action) {
    CLI::App* submit =
        cli.add_subcommand("submit", "submit a job to Slurm, with options derived from the job and cluster");
    auto request = std::make_shared<SubmitRequest>();
    add_job_options(*submit, request->run);
    add_options(*submit, *request);
    submit->footer(
        "Rejects a job that cannot fit before anything reaches the queue. The job stops before its time "
        "limit and when\n"
        "it is preempted, requeues itself and resumes.\n"
        "examples: voltpile submit jobs/threebody/seed_map.toml --nodes 3 --dry-run | sbatch --test-only\n"
        "          voltpile submit jobs/threebody/seed_map.toml --array 4 -- --constraint=v100");
    submit->callback([request, &action] {
        action = on_first_rank([request](const Invocation& invocation) {
            if (is_piped_job(request->run.job_path))
                throw JobError(request->run.job_path +
                               ": the job reads its job file when it starts: save it as a file first");
            voltpile::submit(*request, invocation.apps);
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
