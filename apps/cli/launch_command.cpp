#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "cli/command.h"
#include "cluster/supervisor/launch.h"
#include "cluster/supervisor/node_agent.h"

namespace voltpile::cli {
namespace {

// Whether srun started this process. The shell of salloc may be a step too, whose number Slurm reserves.
bool in_usual_slurm_step() {
    constexpr unsigned long least_reserved = 0xfffffff0;  // SLURM_MAX_NORMAL_STEP_ID of slurm.h
    const char* const step = std::getenv("SLURM_STEP_ID");
    return step && std::strtoul(step, nullptr, 10) < least_reserved;
}

void refuse_ranks_and_pipes(const LaunchRequest& request) {
    if (std::getenv("OMPI_COMM_WORLD_RANK") || in_usual_slurm_step())
        throw JobError("launch starts mpirun or srun itself: start it without them");
    if (is_piped_job(request.run.job_path))
        throw JobError(request.run.job_path + ": each attempt reads the job file: save it as a file first");
}

void add_agent(CLI::App& cli, Action& action) {
    CLI::App* agent = cli.add_subcommand("agent", "what launch starts on every node")->group("");
    agent->callback(
        [&action] { action = [](const Invocation&) { return static_cast<ExitCode>(run_node_agent()); }; });
}

}  // namespace

void add_launch(CLI::App& cli, Action& action) {
    CLI::App* launch =
        cli.add_subcommand("launch", "run a job on nodes that may fail, again and again until it is done");
    auto request = std::make_shared<LaunchRequest>();
    add_job_options(*launch, request->run);
    CLI::Option* file = launch
                            ->add_option("--hosts", request->hosts_file,
                                         "host file, as for mpirun --hostfile [the Slurm allocation, or "
                                         "this host]")
                            ->type_name("FILE")
                            ->check(some_name());
    launch->add_option("--host", request->host_list, "hosts instead of a file, such as node1:4,node2:4")
        ->type_name("LIST")
        ->excludes(file);
    launch
        ->add_option("--ranks", request->ranks,
                     "ranks on each node [the host file's slots or Slurm's tasks, else one for each GPU]")
        ->check(CLI::Range(1, 4096))
        ->type_name("N");
    launch
        ->add_option("--retries", request->patience,
                     "give up after this many attempts in a row without progress")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    launch->add_option("--output", request->run.output, "result file [results/<job name>.h5]")
        ->type_name("FILE")
        ->check(some_name());
    launch->add_flag("--fresh", request->run.fresh,
                     "discard what earlier runs of this job computed and start again");
    launch
        ->add_option("--jsonl", request->run.jsonl,
                     "also write the result as lines of JSON, one for each point")
        ->type_name("FILE")
        ->check(some_name());
    launch->footer(
        "Checks the nodes, runs the job with mpirun or srun, and watches it. When it dies, launch ends what "
        "is\n"
        "left of it on every node, leaves out nodes that are bad or gone, and resumes the job on the "
        "others.\n"
        "Exit code 0: the job is done; 2: the job file, the host file or the arguments are wrong; 3: no node "
        "can\n"
        "run the job; 4: too many attempts made no progress; 5: stopped, and the same command resumes it.\n"
        "example: voltpile launch JOB.toml --hosts HOSTS");
    launch->callback([request, &action] {
        action = [request](const Invocation& invocation) {
            refuse_ranks_and_pipes(*request);
            return voltpile::launch(*request, invocation.apps);
        };
    });
    add_agent(cli, action);
}

}  // namespace voltpile::cli
