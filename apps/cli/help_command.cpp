#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "job/job_help.h"

namespace voltpile::cli {
namespace {

struct HelpArguments {
    std::string topic, app;
    bool markdown = false;
};

ExitCode print_help(const CLI::App& cli, const HelpArguments& args, std::span<const AppEntry> apps) {
    std::vector<AppSchema> known;
    for (const AppEntry& entry : apps) known.push_back(entry.schema);
    if (args.topic.empty()) {
        // Not cli.help(), which gives that of the subcommand at hand.
        fmt::print("{}", cli.get_formatter()->make_help(&cli, cli.get_name(), CLI::AppFormatMode::Normal));
        return ExitCode::Done;
    }
    if (args.markdown) {
        fmt::print("{}", job_file_markdown(known));
        return ExitCode::Done;
    }
    std::string names;
    for (const AppSchema& app : known) {
        if (app.name == args.app) {
            fmt::print("{}", job_help(app));
            return ExitCode::Done;
        }
        names += fmt::format("  voltpile help job {:<12} {}\n", app.name, app.summary);
    }
    if (!args.app.empty()) throw JobError(fmt::format("no app {}; there are:\n{}", args.app, names));
    fmt::print("{}", names);
    return ExitCode::Done;
}

}  // namespace

void add_help(CLI::App& cli, Action& action) {
    CLI::App* help =
        cli.add_subcommand("help", "help on a topic: `voltpile help job threebody` lists a job file's keys");
    auto args = std::make_shared<HelpArguments>();
    help->add_option("TOPIC", args->topic, "job")->check(CLI::IsMember({"job"}));
    help->add_option("APP", args->app, "which app's job files");
    help->add_flag("--markdown", args->markdown, "all apps, as in docs/job_file.md");
    help->callback([&cli, args, &action] {
        action = on_first_rank(
            [&cli, args](const Invocation& invocation) { return print_help(cli, *args, invocation.apps); });
    });
}

}  // namespace voltpile::cli
