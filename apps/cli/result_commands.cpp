// show and plot.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "plot/colormap.h"
#include "plot/movie.h"
#include "plot/plot.h"
#include "plot/telemetry_plot.h"
#include "results/result_reader.h"
#include "results/show.h"
#include "results/stored_telemetry.h"
#include "results/telemetry_log.h"
#include "results/telemetry_text.h"

namespace voltpile::cli {

namespace {

std::string shown_telemetry(const std::string& result) {
    const std::vector<NodeTelemetry> nodes = stored_telemetry(result);
    std::error_code error;
    if (nodes.empty())
        throw JobError(std::filesystem::exists(result, error) ? result + " has no telemetry"
                                                              : "there is no telemetry of " + result);
    return fmt::format("{}: telemetry\n{}", result, telemetry_text(nodes));
}

}  // namespace

void add_show(CLI::App& cli, Action& action) {
    CLI::App* show = cli.add_subcommand("show", "print what a result contains, finished or not");
    show->footer("example: voltpile show results/seed_map.h5");
    auto result = std::make_shared<std::string>();
    show->add_option("FILE", *result, "result file (.h5)")->required()->check(some_result());
    auto row = std::make_shared<std::int64_t>(-1);
    show->add_option("--row", *row, "show all values of one row, counted from 0")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
    auto telemetry = std::make_shared<bool>(false);
    show->add_flag(
            "--telemetry", *telemetry,
            "show power, temperatures, clocks and all else that was sampled of the nodes instead; that "
            "is what a server's .telemetry.h5 holds")
        ->excludes("--row");
    show->callback([result, row, telemetry, &action] {
        action = on_first_rank([result, row, telemetry](const Invocation&) {
            if (*telemetry || (*row < 0 && is_telemetry_log(*result))) {
                fmt::print("{}", shown_telemetry(*result));
                return ExitCode::Done;
            }
            const ResultReader reader(*result);
            fmt::print("{}", *row < 0 ? show_text(reader) : row_text(reader, *row));
            return ExitCode::Done;
        });
    });
}

namespace {

// Returns the size of the terminal; 80 x 24 if stdout is none.
TerminalSize stdout_size() {
    winsize window{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0)
        return {window.ws_col, window.ws_row};
    return {};
}

void add_movie_options(CLI::App& command, MovieOptions& options) {
    CLI::Option* const movie =
        command
            .add_option("--movie", options.output,
                        "draw a picture of each frame, or of each point of the last of three or more axes, "
                        "into this folder; NAME.mp4: into the folder NAME, and a film of them with ffmpeg. "
                        "Pictures that are there already stay")
            ->type_name("FOLDER|MP4")
            ->check(some_name());
    command.add_option("--fps", options.fps, "pictures a second in the MP4 file [30]")
        ->type_name("N")
        ->needs(movie);
    command
        .add_flag("--own-scales", options.own_scales,
                  "color each picture of a movie by its own values, not by those of all")
        ->needs(movie);
    movie->excludes(command.get_option("--output"), command.get_option("--against"),
                    command.get_option("--crop"), command.get_option("--telemetry"),
                    command.get_option("--terminal"));
}

std::string movie_text(const MovieReport& report) {
    return fmt::format(
        "{}: {} pictures of {}{}{}\n", report.folder.string(), report.frames - report.missing, report.frames,
        report.drawn == report.frames ? "" : fmt::format(", {} drawn now", report.drawn),
        report.missing == 0 ? ""
                            : "; the points of the others are not all computed, and the same command draws "
                              "them later");
}

void add_look_options(CLI::App& command, PlotOptions& options) {
    command
        .add_option("--map", options.map,
                    fmt::format("colors: {}; classes has one per whole number [inferno; classes for words, "
                                "twilight for angles]",
                                fmt::join(color_map_names(), ", ")))
        ->type_name("NAME");
    command
        .add_option("--scaling", options.scaling,
                    "linear, log or equalized, which gives each color equally many points [log if values are "
                    "positive and span more than a factor of 1000, else linear]")
        ->type_name("NAME");
    command
        .add_option("--crop", options.crop,
                    "only the points between two values of an axis, such as x=-1:1.5; may be repeated")
        ->type_name("AXIS=FROM:TO")
        ->allow_extra_args(false);
    command
        .add_option("--contour", options.contours,
                    "draw lines where the field has these values, such as 10,100,1000")
        ->type_name("VALUES")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_flag("--shade", options.shade, "shade the field as a relief, lit from the upper left");
    command
        .add_option(
            "--period", options.period,
            "the field is an angle with this period, such as 360 or 6.283185307179586: colors go around")
        ->type_name("X");
    command
        .add_option(
            "--against", options.against,
            "draw this result of the same sweep beside it, with the same colors, and their difference")
        ->type_name("FILE")
        ->check(some_result());
    command
        .add_option("--size", options.size,
                    "at most this many pixels along the field's longer side; more points are averaged [at "
                    "least 800, and a pixel or more per point]")
        ->type_name("PIXELS")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{980'000}));
    command.add_flag("--deep", options.deep, "16 bits per color instead of 8, without steps between colors");
}

}  // namespace

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
                   "draw power, temperatures, clocks and utilization over time instead of a field; also of "
                   "a server's .telemetry.h5")
        ->excludes("--field", "--at");
    plot_command->add_flag("--bare", options->bare, "only the field's pixels: no axes, title or color bar");
    auto on_terminal = std::make_shared<bool>(false);
    plot_command
        ->add_flag("--terminal", *on_terminal,
                   "draw in this terminal, which needs 24-bit colors, not in a file")
        ->excludes("--output", "--telemetry", "--bare");
    add_look_options(*plot_command, *options);
    plot_command->get_option("--terminal")
        ->excludes(plot_command->get_option("--against"), plot_command->get_option("--size"),
                   plot_command->get_option("--deep"));
    auto movie = std::make_shared<MovieOptions>();
    add_movie_options(*plot_command, *movie);
    plot_command->footer(
        "examples:\n"
        "  voltpile plot results/movie.h5 --movie movie.mp4 --bare --size 1000\n"
        "  voltpile plot results/seed_map.h5 --field energy_error --output energy.png\n"
        "  voltpile plot map.h5 --map viridis --scaling equalized --crop x=-1:1 --contour 100,1000\n"
        "  voltpile plot leapfrog.h5 --against accurate.h5 --output both.png");
    plot_command->callback([result, options, telemetry, on_terminal, movie, &action] {
        action = on_first_rank([result, options, telemetry, on_terminal, movie](const Invocation&) {
            if (!movie->output.empty()) {
                const MovieReport report = draw_movie(ResultReader(*result), *options, *movie);
                fmt::print("{}", movie_text(report));
                if (report.has_mp4) fmt::print("{}\n", movie->output.string());
                return ExitCode::Done;
            }
            if (*on_terminal) {
                fmt::print("{}", terminal_plot(ResultReader(*result), *options, stdout_size()));
                return ExitCode::Done;
            }
            if (*telemetry) {
                std::filesystem::path output = options->output;
                if (output.empty()) {
                    const bool of_server = is_telemetry_log(*result);
                    output =
                        std::filesystem::path(*result).replace_extension(of_server ? "png" : "telemetry.png");
                }
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
