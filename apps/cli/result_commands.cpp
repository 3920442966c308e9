// show and plot.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "plot/plot.h"
#include "plot/telemetry_plot.h"
#include "results/result_reader.h"
#include "results/show.h"
#include "results/stored_telemetry.h"

namespace voltpile::cli {

void add_show(CLI::App& cli, Action& action) {
    CLI::App* show = cli.add_subcommand("show", "print what a result contains, finished or not");
    show->footer("example: voltpile show results/seed_map.h5");
    auto result = std::make_shared<std::string>();
    show->add_option("FILE", *result, "result file (.h5)")->required()->check(some_result());
    auto row = std::make_shared<std::int64_t>(-1);
    show->add_option("--row", *row, "show all values of one row, counted from 0")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
    show->callback([result, row, &action] {
        action = on_first_rank([result, row](const Invocation&) {
            const ResultReader reader(*result);
            fmt::print("{}", *row < 0 ? show_text(reader) : row_text(reader, *row));
            return ExitCode::Done;
        });
    });
}

void add_plot(CLI::App& cli, Action& action) {
    CLI::App* plot_command = cli.add_subcommand("plot", "draw a field of a result as a PNG picture");
    auto result = std::make_shared<std::string>();
    auto options = std::make_shared<PlotOptions>();
    plot_command->add_option("FILE", *result, "result file (.h5)")->required()->check(some_result());
    plot_command->add_option("--field", options->field, "the field to draw [the first]");
    plot_command->add_option("--output", options->output, "write the picture here [beside the result]")
        ->type_name("PNG")
        ->check(some_name());
    plot_command
        ->add_option("--at", options->at,
                     "index, from 0, along a further dimension of the field, such as body=1")
        ->type_name("NAME=INDEX")
        ->allow_extra_args(false);
    auto telemetry = std::make_shared<bool>(false);
    plot_command
        ->add_flag("--telemetry", *telemetry,
                   "draw power, temperatures, clocks and utilization over time instead of a field")
        ->excludes("--field", "--at");
    plot_command->add_flag("--bare", options->bare, "only the field's pixels: no axes, title or color bar");
    plot_command->footer(
        "example: voltpile plot results/seed_map.h5 --field energy_error --output energy.png");
    plot_command->callback([result, options, telemetry, &action] {
        action = on_first_rank([result, options, telemetry](const Invocation&) {
            if (*telemetry) {
                std::filesystem::path output = options->output;
                if (output.empty())
                    output = std::filesystem::path(*result).replace_extension("telemetry.png");
                plot_telemetry(stored_telemetry(*result), *result, output);
                fmt::print("{}\n", output.string());
                return ExitCode::Done;
            }
            fmt::print("{}\n", plot(ResultReader(*result), *options).string());
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
