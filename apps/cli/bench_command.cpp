#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "rootmap/bench.h"
#include "threebody/bench.h"

namespace voltpile::cli {

namespace {

void add_bench_rootmap(CLI::App& bench, Action& action) {
    CLI::App* rootmap = bench.add_subcommand(
        "rootmap", "measure the kernels of root maps against the processor's peak, without output");
    rootmap->footer(
        "example: voltpile bench rootmap --method halley --polynomial 'z^13 - z - 1' --iterations 30");
    auto options = std::make_shared<RootmapBenchOptions>();
    rootmap->add_option("--method", options->method, "of finding roots")
        ->check(CLI::IsMember(rootmap_bench_methods()))
        ->capture_default_str();
    rootmap->add_option("--polynomial", options->polynomial, "in z")->capture_default_str();
    rootmap->add_option("--width", options->width, "points across")
        ->check(CLI::Range(1, 46340))  // fewer than 2^31 points
        ->capture_default_str();
    rootmap->add_option("--height", options->height, "points down")
        ->check(CLI::Range(1, 46340))
        ->capture_default_str();
    rootmap->add_option("--iterations", options->iterations, "at most, of a point")
        ->check(CLI::Range(1, 100000000))
        ->capture_default_str();
    rootmap->add_flag("--cpu", options->cpu, "measure the CPU even if there is a GPU");
    rootmap->callback([options, &action] {
        action = on_first_rank([options](const Invocation&) {
            run_rootmap_bench(*options);
            return ExitCode::Done;
        });
    });
}

}  // namespace

void add_bench(CLI::App& cli, Action& action) {
    CLI::App* bench = cli.add_subcommand("bench", "measure the speed of this machine, or of a server");
    bench->footer(
        "examples:\n"
        "  voltpile bench threebody\n"
        "  voltpile bench threebody --method rkn8 --tolerance 1e-9\n"
        "  voltpile bench rootmap\n"
        "  mpirun -np 4 voltpile bench comm\n"
        "  mpirun -np 4 voltpile bench llm --shape llama-3-8b --quant q8_0\n"
        "  voltpile bench serve http://127.0.0.1:8000 --requests 200 --rate 5");
    bench->require_subcommand(1);
    add_bench_comm(*bench, action);
    add_bench_llm(*bench, action);
    add_bench_serve(*bench, action);
    add_bench_rootmap(*bench, action);
    CLI::App* threebody =
        bench->add_subcommand("threebody", "measure the three-body kernels against the processor's peak");
    threebody->footer("example: voltpile bench threebody --size 1000 --steps 50000");
    auto options = std::make_shared<BenchOptions>();
    threebody
        ->add_option(
            "--size", options->size,
            "points along each edge of the map [1000 on a GPU; on a CPU a size that takes about 10 s]")
        ->check(CLI::Range(1, 46340));  // fewer than 2^31 points
    threebody->add_option("--steps", options->steps, "integration steps for each point")
        ->check(CLI::Range(1, 100000000))
        ->capture_default_str();
    threebody->add_option("--method", options->method, "on a GPU: measure this integrator instead of euler")
        ->check(CLI::IsMember(threebody_method_names()))
        ->capture_default_str();
    threebody->add_option("--tolerance", options->tolerance, "of an adaptive method")
        ->check(CLI::Range(1e-14, 1e-2))
        ->capture_default_str();
    threebody->add_flag("--cpu", options->cpu, "measure the CPU even if there is a GPU");
    threebody->callback([options, &action] {
        action = on_first_rank([options](const Invocation&) {
            run_bench(*options);
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
