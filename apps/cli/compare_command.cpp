#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "plot/difference_plot.h"
#include "plot/picture.h"
#include "results/compare_report.h"

namespace voltpile::cli {
namespace {

// As cmp and diff end if two files differ. Only this command ends so.
constexpr ExitCode kDiffer{1};

struct CompareArguments {
    std::string first, second;
    AgreementLimits limits;
    std::vector<std::string> fields;
    bool json = false;
    DifferencePlotOptions picture;
};

void check_limit(const char* option, double limit) {
    if (!(limit >= 0)) throw JobError(fmt::format("{} {}: must be a number of at least 0", option, limit));
}

ExitCode compare_results(const CompareArguments& args) {
    check_limit("--tolerance", args.limits.absolute);
    check_limit("--relative", args.limits.relative);
    const ResultReader first(args.first), second(args.second);
    std::error_code error;
    if (args.first == args.second || std::filesystem::equivalent(args.first, args.second, error))
        throw JobError(fmt::format("{} and {} are the same file", args.first, args.second));
    if (!args.picture.output.empty())
        check_picture_place(args.picture.output, "--png", {args.first, args.second});
    if (!args.picture.at.empty() && args.picture.output.empty())
        throw JobError("--at chooses what --png draws: add --png FILE");
    check_same_points(first, second);
    const std::vector<FieldSpec> fields = fields_to_compare(first, second, args.fields);
    // Before the comparison, which takes longer: a wrong --at ends the command.
    if (!args.picture.output.empty()) plot_difference(first, second, fields.front(), args.picture);

    const Comparison comparison = compare(first, second, args.limits, args.fields);
    const ComparedResults what{args.first, args.second, args.limits};
    fmt::print("{}", args.json ? compare_json(what, comparison) : compare_text(what, comparison));
    if (!args.json && !args.picture.output.empty())
        fmt::print("|difference of {}|: {}\n", fields.front().name, args.picture.output.string());
    return comparison.agree() ? ExitCode::Done : kDiffer;
}

}  // namespace

void add_compare(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand("compare", "compare two results of the same sweep field by field");
    auto args = std::make_shared<CompareArguments>();
    command->add_option("A", args->first, "result file (.h5), finished or not")
        ->required()
        ->check(some_result());
    command->add_option("B", args->second, "result file (.h5) to compare with it")
        ->required()
        ->check(some_result());
    command
        ->add_option("--tolerance", args->limits.absolute,
                     "values agree if they differ by at most this, in the field's unit [0]")
        ->type_name("X");
    command
        ->add_option("--relative", args->limits.relative,
                     "values also agree if they differ by at most this part of the larger one [0]")
        ->type_name("X");
    command->add_option("--field", args->fields, "compare only this field; may be repeated [those of both]")
        ->type_name("NAME")
        ->check(some_name())
        ->allow_extra_args(false);
    command->add_flag("--json", args->json, "print one JSON object instead of a table");
    command
        ->add_option("--png", args->picture.output,
                     "also draw the absolute difference of the first compared field")
        ->type_name("FILE")
        ->check(some_name());
    command
        ->add_option("--at", args->picture.at,
                     "index, from 0, along a further dimension of the field that --png draws, such as body=1")
        ->type_name("NAME=INDEX")
        ->allow_extra_args(false);
    command->footer(
        "NaN agrees with NaN only. Points that only one of the two has do not agree.\n"
        "Exit code 0: everything agrees; 1: something differs; 2: the two cannot be compared, because their\n"
        "axes, units or fields differ, and stderr says how.\n"
        "examples: voltpile compare before.h5 after.h5\n"
        "          voltpile compare leapfrog.h5 accurate.h5 --relative 0.02 --png difference.png");
    command->callback([args, &action] {
        action = on_first_rank([args](const Invocation&) { return compare_results(*args); });
    });
}

}  // namespace voltpile::cli
