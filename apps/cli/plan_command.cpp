#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "plan/cluster_file.h"
#include "plan/plan_text.h"
#include "plan/training.h"
#include "run/discover_topology.h"

namespace voltpile::cli {
namespace {

struct PlanArguments {
    RunOptions run;
    std::string cluster;
    int ranks_per_host = 0;
    bool explain = false;
    TrainingRequest training;
};

void print_plan(const Plan& plan, bool explain) {
    fmt::print("{}{}", to_text(plan), explain ? explain_text(plan) : "");
}

ExitCode plan_described_machine(const PlanArguments& args, const Invocation& invocation) {
    const Topology topology = load_cluster(args.cluster, args.ranks_per_host);
    print_plan(DescribedJob(invocation.apps, args.run).plan(topology), args.explain);
    return ExitCode::Done;
}

ExitCode plan_this_machine(const PlanArguments& args, const Invocation& invocation) {
    return with_mpi(invocation, [&](const MpiSession& mpi) {
        OpenedJob opened = open_job(mpi.world(), invocation.apps, args.run);
        const std::string disk = check_place_and_room(mpi.world(), opened, args.run);
        PreparedJob job = plan_job(mpi.world(), std::move(opened));
        if (!disk.empty()) job.plan.notes.push_back("disk: " + disk);
        if (mpi.world().rank() == 0) print_plan(job.plan, args.explain);
        return ExitCode::Done;
    });
}

ExitCode plan_training_alone(const PlanArguments& args) {
    Topology topology;
    if (args.cluster.empty())
        topology.hosts.push_back(read_this_host());
    else
        topology = load_cluster(args.cluster, 1);
    const TrainingPlan plan = plan_training(args.training, topology);
    fmt::print("{}", to_text(args.training, plan, args.explain));
    return plan.fits() ? ExitCode::Done : ExitCode::CannotRun;
}

// Adds --training and --lora, which take the place of a job.
void add_training_options(CLI::App& plan, PlanArguments& args) {
    plan.get_option("JOB")->required(false);
    CLI::Option* training =
        plan.add_option(
                "--training", args.training.parameters,
                "instead of a job: whether training a language model of so many parameters (7e9) fits")
            ->type_name("N")
            ->check(CLI::Range(1e3, 1e15))
            ->excludes("JOB");
    plan.add_option("--lora", args.training.lora_rank,
                    "train only adapters of this rank, beside frozen weights")
        ->type_name("R")
        ->check(CLI::Range(1, 4096))
        ->needs(training);
}

}  // namespace

void add_plan(CLI::App& cli, Action& action) {
    CLI::App* plan = cli.add_subcommand(
        "plan", "print which rank would compute what, and the time, memory and disk needed; run nothing");
    plan->footer(
        "examples:\n"
        "  voltpile plan jobs/threebody/seed_map.toml --cluster data/clusters/t181_x3.toml --explain\n"
        "  voltpile plan --training 7e9 --lora 16 --cluster t180");
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
    plan->add_flag("--explain", args->explain, "also print how the estimates come about");
    add_training_options(*plan, *args);
    plan->callback([args, plan, &action] {
        if (args->training.parameters > 0) {
            action = on_first_rank([args](const Invocation&) { return plan_training_alone(*args); });
            return;
        }
        if (plan->get_option("JOB")->empty()) throw CLI::RequiredError("JOB");
        const auto described = [args](const Invocation& i) { return plan_described_machine(*args, i); };
        const auto at_hand = [args](const Invocation& i) { return plan_this_machine(*args, i); };
        action = args->cluster.empty() ? Action(at_hand) : on_first_rank(described);
    });
}

}  // namespace voltpile::cli
