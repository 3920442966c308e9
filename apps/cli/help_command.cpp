#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "job/job_help.h"
#include "job/nearest.h"

namespace voltpile::cli {
namespace {

constexpr const char* job_topic = "job";

struct HelpArguments {
    std::vector<std::string> topic;  // "run", "model info", "job", "job threebody"
    bool markdown = false;
};

// Not CLI::App::help(), which gives the help of the subcommand that is being run.
std::string help_of(const CLI::App& command, const std::string& name) {
    return command.get_formatter()->make_help(&command, name, CLI::AppFormatMode::Normal);
}

ExitCode print_command_help(const CLI::App& cli, std::span<const std::string> words) {
    const CLI::App* command = &cli;
    std::string name = cli.get_name();
    for (const std::string& word : words) {
        std::vector<std::string> known;
        const CLI::App* next = nullptr;
        for (const CLI::App* each : command->get_subcommands({})) {
            if (each->get_name() == word) next = each;
            known.push_back(each->get_name());
        }
        if (command == &cli) known.emplace_back(job_topic);
        if (next == nullptr)
            throw JobError(fmt::format("{0} has no command {1}{2} ({0} --help lists them)", name, word,
                                       did_you_mean(nearest_word(word, known))));
        command = next;
        name += " " + word;
    }
    fmt::print("{}", help_of(*command, name));
    return ExitCode::Done;
}

// app: "" for a list of all.
ExitCode print_job_help(const std::string& app, std::span<const AppSchema> known) {
    std::string names;
    for (const AppSchema& schema : known) {
        if (schema.name == app) {
            fmt::print("{}", job_help(schema));
            return ExitCode::Done;
        }
        names += fmt::format("  voltpile help job {:<12} {}\n", schema.name, schema.summary);
    }
    if (!app.empty()) throw JobError(fmt::format("no app {}; the apps are:\n{}", app, names));
    fmt::print("{}", names);
    return ExitCode::Done;
}

ExitCode print_help(const CLI::App& cli, const HelpArguments& args, std::span<const AppEntry> apps) {
    if (args.topic.empty() || args.topic.front() != job_topic) return print_command_help(cli, args.topic);
    std::vector<AppSchema> known;
    for (const AppEntry& entry : apps) known.push_back(entry.schema);
    if (args.topic.size() > 2)
        throw JobError(fmt::format("help job takes one app, not also {}", args.topic[2]));
    if (args.markdown) {
        fmt::print("{}", job_file_markdown(known));
        return ExitCode::Done;
    }
    return print_job_help(args.topic.size() > 1 ? args.topic[1] : "", known);
}

}  // namespace

void add_help(CLI::App& cli, Action& action) {
    CLI::App* help = cli.add_subcommand("help", "print the help of a command, or the keys of a job file");
    auto args = std::make_shared<HelpArguments>();
    help->add_option("TOPIC", args->topic, "a command (run, model info), or job and an app (job threebody)");
    help->add_flag("--markdown", args->markdown, "with job: all apps, as in docs/job_file.md");
    help->footer(
        "examples: voltpile help run            same as voltpile run --help\n"
        "          voltpile help job threebody  every key of the app's job files");
    help->callback([&cli, args, &action] {
        action = on_first_rank(
            [&cli, args](const Invocation& invocation) { return print_help(cli, *args, invocation.apps); });
    });
}

}  // namespace voltpile::cli
