#include <memory>

#include "cli/command.h"

namespace voltpile::cli {

void add_run(CLI::App& cli, Action& action) {
    CLI::App* run = cli.add_subcommand("run", "run a job, or go on with one that was stopped");
    auto options = std::make_shared<RunOptions>();
    add_job_options(*run, *options);
    run->add_option("--output", options->output, "result file [results/<job name>.h5]")->type_name("FILE");
    run->add_flag("--fresh", options->fresh,
                  "discard what earlier runs of this job have left, and start again");
    run->footer("example: mpirun -np 4 voltpile run jobs/threebody/seed_map.toml --output /scratch/map.h5");
    run->callback([options, &action] {
        action = [options](const Invocation& invocation) {
            options->command_line = invocation.command_line;
            StopSignals signals;
            choose_transport(invocation.apps, *options);
            return with_mpi(invocation, [&](const MpiSession& mpi) {
                return run_job(mpi, signals, invocation.apps, *options);
            });
        };
    });
}

}  // namespace voltpile::cli
