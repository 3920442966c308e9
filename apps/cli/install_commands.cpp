// `manual` and `completion`: what `cmake --install` writes beside the program.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command.h"
#include "cli/command_description.h"
#include "cli/manual_page.h"
#include "cli/shell_completion.h"

namespace voltpile::cli {
namespace {

void write_file(const std::filesystem::path& path, const std::string& text) {
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw FileError("write", path.string(), errno);
}

std::vector<std::string> app_names(std::span<const AppEntry> apps) {
    std::vector<std::string> names;
    for (const AppEntry& app : apps) names.push_back(app.schema.name);
    return names;
}

void write_manual(const CommandDescription& top, std::span<const AppEntry> apps,
                  const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder / "man1");
    std::filesystem::create_directories(folder / "man5");
    for (const CommandDescription* command : all_commands(top))
        write_file(folder / "man1" / (manual_name(*command) + ".1"), manual_page(*command, app_names(apps)));
    for (const AppEntry& app : apps)
        write_file(folder / "man5" / (job_manual_name(app.schema) + ".5"), job_manual_page(app.schema));
}

void print_manual(const CommandDescription& top, std::span<const AppEntry> apps,
                  const std::vector<std::string>& words) {
    const std::string name = fmt::format("{}", fmt::join(words, " "));
    for (const CommandDescription* command : all_commands(top)) {
        if (command->name != name) continue;
        fmt::print("{}", manual_page(*command, app_names(apps)));
        return;
    }
    for (const AppEntry& app : apps) {
        if (name != "job " + app.schema.name) continue;
        fmt::print("{}", job_manual_page(app.schema));
        return;
    }
    throw JobError(fmt::format("voltpile has no command {}: voltpile --help lists all", name));
}

struct ManualArguments {
    std::vector<std::string> command;
    std::string folder;
};

}  // namespace

void add_manual(CLI::App& cli, Action& action) {
    CLI::App* manual = cli.add_subcommand("manual", "print the manual page of a command, for man");
    manual->footer(
        "examples: voltpile manual run | man -l -\n          voltpile manual job threebody | man -l -");
    auto args = std::make_shared<ManualArguments>();
    manual->add_option("COMMAND", args->command,
                       "a command, or job and the name of an app [the program itself]");
    manual->add_option("--write", args->folder, "write all pages into man1 and man5 of this folder")
        ->type_name("FOLDER")
        ->check(some_name());
    manual->callback([&cli, args, &action] {
        action = on_first_rank([&cli, args](const Invocation& invocation) {
            const CommandDescription top = describe_command(cli);
            if (args->folder.empty())
                print_manual(top, invocation.apps, args->command);
            else
                write_manual(top, invocation.apps, args->folder);
            return ExitCode::Done;
        });
    });
}

void add_completion(CLI::App& cli, Action& action) {
    CLI::App* completion =
        cli.add_subcommand("completion", "print a script that completes commands and options in a shell");
    completion->footer("example: source <(voltpile completion bash)");
    auto shell = std::make_shared<std::string>();
    completion->add_option("SHELL", *shell)->required()->check(CLI::IsMember({"bash", "zsh"}));
    completion->callback([&cli, shell, &action] {
        action = on_first_rank([&cli, shell](const Invocation&) {
            const CommandDescription top = describe_command(cli);
            fmt::print("{}", *shell == "bash" ? bash_completion(top) : zsh_completion(top));
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
