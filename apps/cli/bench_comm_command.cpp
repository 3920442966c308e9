#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "run/comm_bench.h"

namespace voltpile::cli {

void add_bench_comm(CLI::App& bench, Action& action) {
    CLI::App* comm = bench.add_subcommand(
        "comm", "measure collectives and transfers between the ranks, all algorithms side by side");
    comm->footer(
        "examples:\n"
        "  mpirun -np 4 voltpile bench comm\n"
        "  mpirun -np 4 voltpile bench comm --collective all_reduce --min 2K --max 64K\n"
        "  mpirun -np 2 voltpile bench comm --path channel --output comm.h5\n\n"
        "docs/communication.md describes the algorithms and how to read the tables.");
    auto options = std::make_shared<CommBenchOptions>();
    const auto sizes = CLI::AsSizeValue(false);  // 64K, 16M, 1G: powers of 1024
    comm->add_option("--min", options->min_bytes, "smallest message in bytes, or 2K, 1M")
        ->transform(sizes)
        ->type_name("BYTES")
        ->capture_default_str();
    comm->add_option("--max", options->max_bytes, "largest message in bytes, at most 1G")
        ->transform(sizes)
        ->type_name("BYTES")
        ->capture_default_str();
    comm->add_option("--factor", options->factor, "ratio of one message size to the one before")
        ->check(CLI::Range(2, 1024))
        ->capture_default_str();
    auto chosen = std::make_shared<std::vector<std::string>>();
    comm->add_option("--collective", *chosen, "measure only these collectives [all]")
        ->check(CLI::IsMember({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}));
    comm->add_option("--path", options->path,
                     "measure only algorithms whose names contain this: nccl, one-shot, two-shot, channel, "
                     "mpi, ... [all]");
    comm->add_flag("!--no-graph", options->graph, "leave out collectives inside CUDA graphs");
    comm->add_flag("!--no-pairs", options->pairs, "leave out transfers between every pair of ranks");
    comm->add_flag("--host", options->host, "use host memory even where there are GPUs");
    comm->add_option("--output", options->output,
                     "also write the results to this HDF5 file, with charts beside it (.svg)")
        ->type_name("FILE")
        ->check(some_name());
    comm->callback([options, chosen, &action] {
        constexpr std::int64_t most = std::int64_t{1} << 30;
        if (options->min_bytes < 4 || options->min_bytes % 4 != 0)
            throw CLI::ValidationError("--min", "must be a multiple of 4 bytes, the size of a float");
        if (options->max_bytes < options->min_bytes || options->max_bytes > most)
            throw CLI::ValidationError("--max", "must be from --min to 1G");
        for (int i = 0; i < collective_count; ++i)
            if (std::ranges::count(*chosen, name_of(static_cast<Collective>(i))) > 0)
                options->collectives.push_back(static_cast<Collective>(i));
        action = [options](const Invocation& invocation) {
            options->command_line = invocation.command_line;
            return with_mpi(invocation, [&](const MpiSession& mpi) {
                run_comm_bench(mpi.world(), *options);
                return ExitCode::Done;
            });
        };
    });
}

}  // namespace voltpile::cli
