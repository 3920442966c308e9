#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "cli/command.h"
#include "run/launcher_guard.h"
#include "run/same_build.h"

namespace voltpile::cli {
namespace {

// How long mpirun gets to end a job that is done, though it may not reach every node any more.
constexpr std::chrono::seconds kLauncherGrace{30};

}  // namespace

void add_run(CLI::App& cli, Action& action) {
    CLI::App* run = cli.add_subcommand("run", "run a job, or resume one that was stopped");
    auto options = std::make_shared<RunOptions>();
    auto shard = std::make_shared<std::string>();
    add_job_options(*run, *options);
    run->add_option("--output", options->output, "result file [results/<job name>.h5]")
        ->type_name("FILE")
        ->check(some_name());
    run->add_flag("--fresh", options->fresh,
                  "discard what earlier runs of this job computed and start again");
    CLI::Option* part =
        run->add_option("--shard", *shard,
                        "compute only part I (from 0) of K; the last of the K runs writes the result")
            ->type_name("I/K");
    part->excludes("--fresh");
    run->add_option("--jsonl", options->jsonl, "also write the result as lines of JSON, one for each point")
        ->type_name("FILE")
        ->check(some_name())
        ->excludes(part);
    run->add_option_function<std::int64_t>(
           "--check",
           [options](const std::int64_t& points) {
               options->overrides.push_back("check.points=" + std::to_string(points));
           },
           "compute N random points again with a more exact method and store the agreement in the result; "
           "the same as --set check.points=N")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
    run->add_flag(
        "--take-over", options->take_over,
        "take over from another run that seems to be alive but whose host is out of reach; that run can no "
        "longer commit anything");
    run->footer("example: mpirun -np 4 voltpile run jobs/threebody/seed_map.toml --output /scratch/map.h5");
    run->callback([options, shard, &action] {
        action = [options, shard](const Invocation& invocation) {
            if (!shard->empty()) options->shard = parse_shard(*shard);
            options->command_line = invocation.command_line;
            keep_piped_job(*options);
            StopSignals signals;
            choose_transport(invocation.apps, *options);
            return with_mpi(invocation, [&](const MpiSession& mpi) {
                check_same_build(mpi.world());
                const ExitCode code = run_job(mpi, signals, invocation.apps, *options);
                if (mpi.world().rank() == 0 && mpirun_spans_hosts()) end_launcher_after(kLauncherGrace);
                return code;
            });
        };
    });
}

}  // namespace voltpile::cli
