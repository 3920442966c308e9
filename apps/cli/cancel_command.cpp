#include "cluster/cancel.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"

namespace voltpile::cli {

void add_cancel(CLI::App& cli, Action& action) {
    CLI::App* cancel =
        cli.add_subcommand("cancel", "stop a job in Slurm's queue or on this host; committed work stays");
    auto subject = std::make_shared<std::string>();
    cancel
        ->add_option("JOBID|FILE", *subject,
                     "a job in Slurm's queue (12, 12_3), or the result file that a run is writing")
        ->required()
        ->check(some_name());
    cancel->footer(
        "Ends a job in the queue with scancel. Sends SIGUSR1 to a run outside Slurm, which commits what it "
        "has\n"
        "computed and ends with exit code 5; the same command resumes it later. Exit code 2: no run is "
        "writing\n"
        "the result; 3: the run is on another host, and the message says how to stop it there.\n"
        "examples: voltpile cancel 12\n"
        "          voltpile cancel results/seed_map.h5");
    cancel->callback([subject, &action] {
        action = on_first_rank([subject](const Invocation&) {
            fmt::print("{}", voltpile::cancel(*subject));
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
