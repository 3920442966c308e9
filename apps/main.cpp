// The command line and the table of apps.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <vector>

#include "base/build_info.h"
#include "base/host_name.h"
#include "comm/mpi_session.h"
#include "job/job_help.h"
#include "results/plot.h"
#include "results/result_reader.h"
#include "results/show.h"
#include "run/agreement.h"
#include "run/runner.h"
#include "threebody/bench.h"
#include "threebody/keys.h"
#include "threebody/threebody_app.h"

namespace voltpile {
namespace {

std::vector<AppEntry> app_table() {
    return {{threebody_schema(), make_threebody}};
}

std::vector<AppSchema> schemas() {
    std::vector<AppSchema> out;
    for (const AppEntry& entry : app_table()) out.push_back(entry.schema);
    return out;
}

// This rank, as the launcher tells it before MPI has started: so that help and errors about the arguments are
// printed once.
int launched_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (const char* value = std::getenv(name)) return std::atoi(value);
    return 0;
}

std::string command_line(int argc, char** argv) {
    std::string line;
    for (int i = 0; i < argc; ++i) {
        const std::string word = argv[i];
        const bool plain =
            !word.empty() && word.find_first_of(" \t\n\"'\\$*?[]{}()<>|&;#~`!") == std::string::npos;
        line += fmt::format("{}{}", i ? " " : "", plain ? word : "'" + word + "'");
    }
    return line;
}

// Runs `body` on all ranks; it may throw whatever its rank meets.
template <class Body>
ExitCode with_mpi(int& argc, char**& argv, Body&& body) {
    const MpiSession mpi(argc, argv);
    if (mpi.world().size() > 1)
        spdlog::default_logger()->set_pattern(
            fmt::format("%^%l%$ (rank {} on {}): %v", mpi.world().rank(), host_name()));
    try {
        return body(mpi);
    } catch (const AgreedError& error) {  // all ranks are here
        if (mpi.world().rank() == 0) fmt::print(stderr, "{}\n", error.what());
        return error.exit_code();
    } catch (const Error& error) {
        spdlog::error("{}", error.what());
        mpi.abort(static_cast<int>(error.exit_code()));
    } catch (const std::exception& error) {
        spdlog::error("{}", error.what());
        mpi.abort(static_cast<int>(ExitCode::Failed));
    }
}

struct Arguments {
    RunOptions run;
    std::string cluster;
    int ranks_per_host = 0;
    std::string result;
    PlotOptions plot;
    std::string help_topic, help_app;
    bool markdown = false;
    BenchOptions bench;
};

void add_job_options(CLI::App& command, RunOptions& run) {
    command.add_option("JOB", run.job_path, "job file (TOML)")->required();
    command
        .add_option("--set", run.overrides,
                    "override a key of the job file, e.g. integrate.steps=5000 or sweep.x.count=100")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
}

void define_commands(CLI::App& cli, Arguments& args) {
    cli.require_subcommand(1);
    cli.set_version_flag("--version", to_text(build_info()),
                         "print version, git revision and what is built in");
    cli.footer(
        "examples:\n"
        "  voltpile run jobs/threebody/seed_map.toml\n"
        "  mpirun -np 4 voltpile run jobs/threebody/seed_map.toml --set sweep.x.count=500\n"
        "  voltpile show results/seed_map.h5\n"
        "  voltpile plot results/seed_map.h5 --output map.png\n"
        "  voltpile help job threebody\n\n"
        "exit codes: 0 done; 2 the job file or the arguments are wrong; 3 this machine cannot run the job;\n"
        "            4 it failed in running; 5 it was stopped and can be resumed by the same command\n\n"
        "Voltpile is free software under the Apache License 2.0.");

    CLI::App* run = cli.add_subcommand("run", "run a job, or go on with one that was stopped");
    add_job_options(*run, args.run);
    run->add_option("--output", args.run.output, "result file [results/<job name>.h5]")->type_name("FILE");
    run->add_flag("--fresh", args.run.fresh,
                  "discard what earlier runs of this job have left, and start again");
    run->footer("example: mpirun -np 4 voltpile run jobs/threebody/seed_map.toml --output /scratch/map.h5");

    CLI::App* plan =
        cli.add_subcommand("plan", "say who would compute what, how long and how much; run nothing");
    add_job_options(*plan, args.run);
    CLI::Option* cluster = plan->add_option("--cluster", args.cluster,
                                            "plan for a described machine, e.g. data/clusters/t181_x3.toml")
                               ->type_name("FILE");
    plan->add_option("--ranks-per-host", args.ranks_per_host, "with --cluster [one for each GPU]")
        ->check(CLI::Range(1, 4096))
        ->needs(cluster);

    CLI::App* show = cli.add_subcommand("show", "say what a result holds, finished or not");
    show->add_option("FILE", args.result, "result file (.h5)")->required();

    CLI::App* plot = cli.add_subcommand("plot", "draw a field of a result as a picture (PNG)");
    plot->add_option("FILE", args.result, "result file (.h5)")->required();
    plot->add_option("--field", args.plot.field, "which field [the first]");
    plot->add_option("--output", args.plot.output, "picture [beside the result]")->type_name("PNG");
    plot->add_option("--at", args.plot.at, "index, counted from 0, on a further dimension, e.g. body=1")
        ->type_name("NAME=INDEX")
        ->allow_extra_args(false);
    plot->footer("example: voltpile plot results/seed_map.h5 --field energy_error --output energy.png");

    CLI::App* help =
        cli.add_subcommand("help", "help on a topic: `voltpile help job threebody` lists a job file's keys");
    help->add_option("TOPIC", args.help_topic, "job")->check(CLI::IsMember({"job"}));
    help->add_option("APP", args.help_app, "which app's job files");
    help->add_flag("--markdown", args.markdown, "all apps, as in docs/job_file.md");

    CLI::App* bench = cli.add_subcommand("bench", "measure how fast this machine is");
    bench->require_subcommand(1);
    CLI::App* threebody =
        bench->add_subcommand("threebody", "the three-body map's kernels against the processor's peak");
    threebody->add_option("--size", args.bench.size, "points along each edge of the map")
        ->check(CLI::Range(1, 46340))  // fewer than 2^31 points
        ->capture_default_str();
    threebody->add_option("--steps", args.bench.steps, "steps a point")
        ->check(CLI::Range(1, 100000000))
        ->capture_default_str();
    threebody->add_flag("--cpu", args.bench.cpu, "measure the processor even if there is a GPU");
}

ExitCode print_plan(int& argc, char**& argv, const Arguments& args) {
    const auto apps = app_table();
    if (!args.cluster.empty()) {
        fmt::print(
            "{}",
            to_text(prepare_job_for(load_cluster(args.cluster, args.ranks_per_host), apps, args.run).plan));
        return ExitCode::Done;
    }
    return with_mpi(argc, argv, [&](const MpiSession& mpi) {
        const PreparedJob job = prepare_job(mpi.world(), apps, args.run);
        if (mpi.world().rank() == 0) fmt::print("{}", to_text(job.plan));
        return ExitCode::Done;
    });
}

ExitCode print_help(const CLI::App& cli, const Arguments& args) {
    const auto known = schemas();
    if (args.help_topic.empty()) {
        fmt::print("{}", cli.help());
    } else if (args.markdown) {
        fmt::print("{}", job_file_markdown(known));
    } else {
        std::string names;
        for (const AppSchema& app : known) {
            if (app.name == args.help_app) {
                fmt::print("{}", job_help(app));
                return ExitCode::Done;
            }
            names += fmt::format("  voltpile help job {:<12} {}\n", app.name, app.summary);
        }
        if (!args.help_app.empty())
            throw JobError(fmt::format("no app {}; there are:\n{}", args.help_app, names));
        fmt::print("{}", names);
    }
    return ExitCode::Done;
}

ExitCode dispatch(int& argc, char**& argv, CLI::App& cli, Arguments& args) {
    if (cli.got_subcommand("run")) {
        StopSignals signals;
        return with_mpi(argc, argv,
                        [&](const MpiSession& mpi) { return run_job(mpi, signals, app_table(), args.run); });
    }
    if (cli.got_subcommand("plan") && args.cluster.empty()) return print_plan(argc, argv, args);
    if (launched_rank() != 0) return ExitCode::Done;  // what follows is for one process
    if (cli.got_subcommand("plan")) return print_plan(argc, argv, args);
    if (cli.got_subcommand("help")) return print_help(cli, args);
    if (cli.got_subcommand("show")) {
        fmt::print("{}", show_text(ResultReader(args.result)));
    } else if (cli.got_subcommand("plot")) {
        fmt::print("{}\n", plot(ResultReader(args.result), args.plot).string());
    } else {
        run_bench(args.bench);
    }
    return ExitCode::Done;
}

int run_command(int argc, char** argv) {
    CLI::App cli("Voltpile runs one job file on all the processors and GPUs it is given, over MPI.",
                 "voltpile");
    Arguments args;
    args.run.command_line = command_line(argc, argv);
    define_commands(cli, args);
    try {
        cli.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (launched_rank() != 0)
            return error.get_exit_code() == 0 ? 0 : static_cast<int>(ExitCode::BadInput);
        return cli.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::BadInput);
    }
    try {
        return static_cast<int>(dispatch(argc, argv, cli, args));
    } catch (const Error& error) {
        if (launched_rank() == 0) fmt::print(stderr, "{}\n", error.what());
        return static_cast<int>(error.exit_code());
    } catch (const std::exception& error) {
        fmt::print(stderr, "voltpile: {}\n", error.what());
        return static_cast<int>(ExitCode::Failed);
    }
}

}  // namespace
}  // namespace voltpile

int main(int argc, char** argv) {
    auto logger = spdlog::stderr_color_mt("voltpile");
    logger->set_pattern("%^%l%$: %v");
    spdlog::set_default_logger(logger);
    return voltpile::run_command(argc, argv);
}
