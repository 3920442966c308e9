#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "plan/cluster_file.h"

namespace voltpile::cli {
namespace {

struct PlanArguments {
    RunOptions run;
    std::string cluster;
    int ranks_per_host = 0;
};

ExitCode plan_described_machine(const PlanArguments& args, const Invocation& invocation) {
    const Topology topology = load_cluster(args.cluster, args.ranks_per_host);
    fmt::print("{}", to_text(DescribedJob(invocation.apps, args.run).plan(topology)));
    return ExitCode::Done;
}

ExitCode plan_this_machine(const PlanArguments& args, const Invocation& invocation) {
    return with_mpi(invocation, [&](const MpiSession& mpi) {
        OpenedJob opened = open_job(mpi.world(), invocation.apps, args.run);
        check_place_and_room(mpi.world(), opened, args.run);
        const PreparedJob job = plan_job(mpi.world(), std::move(opened));
        if (mpi.world().rank() == 0) fmt::print("{}", to_text(job.plan));
        return ExitCode::Done;
    });
}

}  // namespace

void add_plan(CLI::App& cli, Action& action) {
    CLI::App* plan = cli.add_subcommand(
        "plan", "print which rank would compute what, and the time, memory and disk needed; run nothing");
    plan->footer("example: voltpile plan jobs/threebody/seed_map.toml --cluster data/clusters/t181_x3.toml");
    auto args = std::make_shared<PlanArguments>();
    add_job_options(*plan, args->run);
    plan->add_option("--output", args->run.output,
                     "result file of the run, to check that it can be written and fits the disk "
                     "[results/<job name>.h5]")
        ->type_name("FILE")
        ->check(some_name());
    CLI::Option* cluster =
        plan->add_option(
                "--cluster", args->cluster,
                "plan for a described machine: a file, or the name of an installed one, such as t181_x3")
            ->type_name("FILE")
            ->transform(shipped_file("data/clusters"))
            ->check(some_name());
    plan->add_option("--ranks-per-host", args->ranks_per_host,
                     "ranks on each host of --cluster [one for each GPU]")
        ->check(CLI::Range(1, 4096))
        ->needs(cluster);
    plan->callback([args, &action] {
        const auto described = [args](const Invocation& i) { return plan_described_machine(*args, i); };
        const auto at_hand = [args](const Invocation& i) { return plan_this_machine(*args, i); };
        action = args->cluster.empty() ? Action(at_hand) : on_first_rank(described);
    });
}

}  // namespace voltpile::cli
