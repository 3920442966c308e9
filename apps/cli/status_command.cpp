#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "cli/command.h"
#include "cluster/status.h"

namespace voltpile::cli {

void add_status(CLI::App& cli, Action& action) {
    CLI::App* status =
        cli.add_subcommand("status", "print the progress of jobs in Slurm's queue, or of a result");
    auto subject = std::make_shared<std::string>();
    status
        ->add_option("JOBID|FILE", *subject,
                     "a job (12, 12_3), or a result file, finished or not [all my jobs in the queue]")
        ->check(some_name());
    status->footer("A result file needs no Slurm, so this works for runs under mpirun, too.");
    status->callback([subject, &action] {
        action = on_first_rank([subject](const Invocation&) {
            const char* term = std::getenv("TERM");
            const bool colors = isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR") && term &&
                                std::string_view(term) != "dumb";
            fmt::print("{}", voltpile::status(*subject, {colors}));
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
